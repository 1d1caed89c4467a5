package explain

import (
	"time"

	"github.com/drover-project/drover/internal/model"
)

// marked lets a MachineHealthCheck want a Machine replaced.
func (in *Input) marked(name string) *model.Machine {
	m := in.machine(name)
	m.Unhealthy = &model.Mark{Since: ago(3 * time.Minute), Why: "Condition Ready on Node is reporting status Unknown for more than 5m0s"}
	m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, ago(8*time.Minute)
	return m
}

// oddSituations are those of servers that nobody wanted to change.
var oddSituations = map[string]func() *Input{
	"unhealthy, at the limit of retries": func() *Input {
		in := whole(3)
		in.silent("cp-b")
		m := in.marked("cp-b")
		m.Created, m.RemediationFor = ago(20*time.Minute), &model.Remediation{Machine: "cp-x", At: ago(21 * time.Minute), Retry: 2}
		limit := 2
		in.Snapshot.ControlPlane.Remediation = model.RemediationPolicy{MaxRetry: &limit, MinHealthyPeriod: time.Hour}
		return in
	},
	"the only server is unhealthy": func() *Input {
		in := whole(1)
		in.marked("cp-a")
		return in
	},
	"deleted, and its host is dead": func() *Input {
		in := whole(3)
		in.silent("cp-b")
		m := in.deleted("cp-b", model.PhaseWaitingForPreDrain, ago(10*time.Second), "")
		m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, ago(8*time.Minute)
		return in
	},
	"all deleted at once": func() *Input {
		in := whole(3)
		for _, name := range []string{"cp-a", "cp-b", "cp-c"} {
			in.deleted(name, model.PhaseWaitingForPreTerm, ago(30*time.Second), "").PreDrainHook = true
		}
		in.add("cp-d").Created = ago(2 * time.Minute)
		in.machine("cp-d").NodeName, in.machine("cp-d").NodeAbsent = "", true
		in.unlist("cp-d")
		return in
	},
	"etcd 3.6 is refused": func() *Input {
		in := whole(3)
		in.Snapshot.ControlPlane.Version = "v1.33.12+rke2r1"
		in.outdate("cp-a", "cp-b", "cp-c")
		for _, name := range []string{"cp-a", "cp-b", "cp-c"} {
			in.machine(name).Version, in.member(name).Version = "v1.33.6+rke2r1", "3.5.21"
			in.machine(name).Outdated = []string{"version v1.33.6+rke2r1, wanted v1.33.12+rke2r1"}
		}
		return in
	},
	"etcd can't be asked, and one server is outdated": func() *Input {
		in := whole(1)
		cp := &in.Snapshot.ControlPlane
		cp.ExternalDatastore, cp.HiddenEtcd = true, true
		in.Snapshot.Etcd.Members = model.Unknown[[]model.Member]("nobody has etcd's certificate authorities yet", now)
		in.outdate("cp-a")
		return in
	},
	"load balancers let go": func() *Input {
		in := rolling()
		m := in.deleted("cp-a", model.PhaseWaitingForPreDrain, ago(3*time.Second), "")
		m.Node.Value.Excluded, m.Node.Value.ExcludedAt = true, ago(2*time.Second)
		return in
	},
	"hosts gone while all is deleted": func() *Input {
		in := whole(3)
		in.Snapshot.ControlPlane.Deleting = true
		in.Snapshot.Etcd.Members = model.Unknown[[]model.Member]("no connection to the workload cluster", now)
		for _, name := range []string{"cp-a", "cp-b", "cp-c"} {
			m := in.deleted(name, model.PhaseDeletingInfra, ago(3*time.Minute), "")
			m.PreDrainHook, m.PreTerminateHook = false, false
			m.Node = model.Unknown[model.Node]("no connection to the workload cluster", now)
		}
		in.Obstacles = []model.Obstacle{{Machine: "cp-b", Kind: "MetalMachine", Name: "shop/cp-b", Why: "finalizer metal.example.com/host", Since: ago(3 * time.Minute), Stuck: true}}
		return in
	},
}
