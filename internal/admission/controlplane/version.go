package controlplane

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/version"
)

// changeOfVersion checks the step from one release to another.
//
// A rollout may be turned round: as long as some server runs the earlier release
// the control plane may go back to it, since then the servers are as mixed as
// they are now. Without that, a version nobody has ever released could not be
// taken back.
func changeOfVersion(l *finding.List, stored, object *controlplanev1.RKE2ControlPlane) {
	if stored.Spec.Version == object.Spec.Version {
		return
	}
	to, err := version.Parse(object.Spec.Version)
	if err != nil {
		return // the rule for the form of a version says so
	}
	if !initialized(stored) && conditions.IsFalse(stored, controlplanev1.InitializedCondition) {
		return // no server runs anything yet, as the controller has seen
	}
	path := specPath.Child("version")
	asked, errAsked := version.Parse(stored.Spec.Version)
	lowest, errLowest := version.Parse(stored.Status.Version)
	if errAsked == nil && to.Compare(asked) < 0 {
		if errLowest != nil || to.Compare(lowest) < 0 {
			l.Refuse(field.Invalid(path, object.Spec.Version, downgrade(asked, to)))
			return
		}
		l.Warn(path, "back to %s, which a server still runs: servers that have reached %s already are replaced again", to, asked)
	}
	// What the servers run counts, not what was asked for: a rollout may be on
	// its way. Without a status only the latter is known.
	from := asked
	if errLowest == nil && (errAsked != nil || lowest.Compare(asked) < 0) {
		from = lowest
	}
	if from.IsZero() {
		return
	}
	step(l, path, stored, from, to)
}

func downgrade(from, to version.Version) string {
	if version.IsDowngrade(from, to) {
		return fmt.Sprintf("a control plane cannot go back from %s: etcd and the API server of an earlier release may not read what later ones wrote; "+
			"restore a snapshot into a new cluster instead", from)
	}
	return fmt.Sprintf("a control plane cannot go back from %s to an earlier build: set the same or a later release", from)
}

// step checks the way from what the servers run to a later release.
func step(l *finding.List, path *field.Path, stored *controlplanev1.RKE2ControlPlane, from, to version.Version) {
	if version.SkipsMinor(from, to) {
		detail := fmt.Sprintf("a control plane cannot go from %s to %s at once, Kubernetes supports one minor version at a time: set a release of v%d.%d first",
			from, to, from.Major, from.Minor+1)
		if from.String() != stored.Spec.Version {
			detail = fmt.Sprintf("servers still run %s, and Kubernetes supports one minor version at a time: wait until all run %s", from, stored.Spec.Version)
		}
		l.Refuse(field.Invalid(path, to.String(), detail))
		return
	}
	if stored.Spec.ServerConfig.ExternalDatastoreSecret == nil && version.RiskyEtcdStep(from, to) {
		l.Refuse(field.Invalid(path, to.String(), fmt.Sprintf(
			"this leads from etcd before 3.5.26 (in %s) straight to etcd 3.6, where removed members can come back and break the cluster: "+
				"set a release with etcd 3.5.26 first, such as v1.32.11+rke2r3 or v1.33.7+rke2r3", from)))
	}
}
