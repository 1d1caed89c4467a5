package plan

import (
	"fmt"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/version"
)

// etcdHopIsBridged refuses to let a server with etcd 3.6 join members that run
// etcd before 3.5.26. Such a cluster keeps two lists of members that may differ;
// 3.6 reads the other one, and members that were removed long ago come back as
// voters (https://etcd.io/blog/2025/zombie_members_upgrade/). Replacing servers
// one by one is the very way in which that happens.
var etcdHopIsBridged = Rule{
	Name: "etcd_hop_is_bridged",
	Why:  "Members removed under etcd before 3.5.26 come back as voters when etcd 3.6 joins, and the quorum is lost to servers that no longer exist.",
	decide: func(v *view) (model.Decision, bool) {
		if w, risky := v.riskyHop(); risky && !v.nothingToChange() {
			return wait(w)
		}
		return pass()
	},
}

// riskyHop gives the wait while a server of the wished version must not join
// the members that there are. What is not known holds nothing up.
func (v *view) riskyHop() (model.Wait, bool) {
	target, err := version.Parse(v.ControlPlane.Version)
	if err != nil || v.ControlPlane.ExternalDatastore || version.EtcdIn(target) != version.Etcd36 {
		return model.Wait{}, false
	}
	for i := range v.Etcd.Members.Value {
		member := &v.Etcd.Members.Value[i]
		runs, bridge, early := v.runsEarlyEtcd(member)
		if !early {
			continue
		}
		return model.Wait{
			Operator: true,
			Message: fmt.Sprintf("%s has etcd 3.6, and member %s runs etcd %s: removed members could come back as voters",
				target, member.Label(), runs),
			Blockers: []model.Blocker{v.controlPlaneBlocker(fmt.Sprintf("set spec.version to %s first, which has etcd 3.5.26, and go on when all servers run it", bridge))},
		}, true
	}
	return model.Wait{}, false
}

// runsEarlyEtcd tells whether a member runs etcd before 3.5.26: by its own word
// or, when it could not be asked, by the release of its Machine. The bridge is
// the release to go to first.
func (v *view) runsEarlyEtcd(member *model.Member) (runs, bridge string, early bool) {
	machine, ok := v.MachineByName(member.Machine)
	release, err := version.Parse(machine.Version)
	known := ok && err == nil
	bridge = "an RKE2 release with etcd 3.5.26"
	if known {
		bridge = version.EtcdBridge(release)
	}
	if member.Version != "" {
		return member.Version, bridge, version.EtcdBefore3526(member.Version)
	}
	return version.EtcdIn(release).String(), bridge, known && version.EtcdIn(release) == version.Etcd35Early
}
