package plan

import (
	"fmt"

	"github.com/drover-project/drover/internal/model"
)

// openEtcd is how an operator lets Drover see the etcd of a cluster of the
// legacy kind.
const openEtcd = "give Drover the certificate authorities of etcd (docs/operate/external-datastore.md, clusters of the legacy kind)"

// hiddenEtcdKeepsQuorum holds a server of a cluster whose etcd can't be asked,
// if the members that are left could not agree while its own is still listed.
// RKE2 takes that one off the list only when core has deleted the Node, which
// comes after the host.
var hiddenEtcdKeepsQuorum = Rule{
	Name: "hidden_etcd_keeps_quorum",
	Why:  "An etcd that can't be asked can't be told to let go of a member before its server stops. With two members, that stop costs the quorum for good.",
	decide: func(v *view) (model.Decision, bool) {
		m, ok := v.leaver()
		if !ok || !v.ControlPlane.HiddenEtcd || !v.mayServe(m) {
			return pass()
		}
		all, working := 1, 0
		for _, other := range v.machines {
			if other == m || v.neverCame(other) || other.NodeName == "" && other.HostGone() {
				continue
			}
			all++
			if other.Alive() && !other.Phase.PastHooks() {
				working++
			}
		}
		if working > all/2 {
			return pass()
		}
		return wait(model.Wait{
			Machine:  m.Name,
			Message:  fmt.Sprintf("Machine %s can't leave: etcd can't be asked, and %d of its %d members would be left to agree on the removal", m.Name, working, all),
			Blockers: []model.Blocker{v.controlPlaneBlocker(openEtcd)},
			Operator: true,
			Recheck:  later,
		})
	},
}

// hiddenEtcdIsOpenedFirst begins nothing that would end in two servers of which
// none can leave.
var hiddenEtcdIsOpenedFirst = Rule{
	Name: "hidden_etcd_is_opened_first",
	Why:  "A single server is replaced by way of two, and the step from two to one can't be taken with an etcd that can't be asked.",
	decide: func(v *view) (model.Decision, bool) {
		if !v.ControlPlane.HiddenEtcd || v.ControlPlane.Replicas > 1 || len(v.staying) > 2 || v.nothingToChange() {
			return pass()
		}
		return wait(model.Wait{
			Message:  "no server is replaced or removed: etcd can't be asked, and on the way from two servers to one it would lose the quorum",
			Blockers: []model.Blocker{v.controlPlaneBlocker(openEtcd + ", or keep three servers")},
			Operator: true,
		})
	},
}
