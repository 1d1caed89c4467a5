package plan

import (
	"fmt"
	"slices"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// keepServing holds a server that works, of a control plane without members to
// count, until the others can do without it. As long as it carries our pre-drain
// hook nothing of it has ended, also where core has come past that hook because
// no server was to stay. Once it is drained, it is held only as the last one
// that answers.
func (v *view) keepServing(m *model.Machine) (model.Decision, bool) {
	if !v.mayServe(m) || m.Phase.PastHooks() || !m.PreTerminateHook || v.isFull() {
		return pass()
	}
	have, want := v.workingStaying(), 1
	if m.PreDrainHook {
		want = v.votersToKeep()
	}
	if have >= want {
		return pass()
	}
	return v.replace(m, quorum.Verdict{Why: fmt.Sprintf("%d servers that work stay, %d are wanted", have, want)})
}

// mayServe tells whether a server works, or nobody can know: where no API server
// answers, the next server brings one.
func (v *view) mayServe(m *model.Machine) bool {
	return m.Alive() || m.NodeName != "" && !m.Node.Known && !m.HostGone()
}

// workingStaying counts the Machines that stay and whose Nodes are Ready.
func (v *view) workingStaying() int {
	return len(slices.DeleteFunc(slices.Clone(v.staying), func(m *model.Machine) bool { return !m.Alive() }))
}

// idleStaying are the Machines that stay and do not work.
func (v *view) idleStaying() []model.Blocker {
	var out []model.Blocker
	for _, m := range v.staying {
		if !m.Alive() {
			out = append(out, machineBlocker(m, "it ends when its Node is Ready again; if it is broken, delete the Machine"))
		}
	}
	return out
}
