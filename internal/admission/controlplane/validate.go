package controlplane

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
	"github.com/drover-project/drover/internal/version"
)

var specPath = field.NewPath("spec")

// Validate checks a control plane. Stored is the object before a change, nil
// when it is created. CrossNamespace allows references to other namespaces.
func Validate(stored, object *controlplanev1.RKE2ControlPlane, crossNamespace bool) finding.List {
	found := check(object, crossNamespace)
	if stored == nil {
		return found
	}
	found = found.Ratchet(check(stored, crossNamespace))
	changeOfVersion(&found, stored, object)
	changeOfAgreement(&found, stored, object)
	return found
}

// check finds what is wrong with a control plane as it is.
func check(cp *controlplanev1.RKE2ControlPlane, crossNamespace bool) finding.List {
	common := settingsOf(&cp.Spec)
	l := common.check(specPath, reference.Policy{Namespace: cp.Namespace, CrossNamespace: crossNamespace})
	if !cp.Spec.MachineTemplate.Spec.InfrastructureRef.IsDefined() {
		l.Refuse(field.Required(specPath.Child("machineTemplate", "spec", "infrastructureRef"), infrastructureRefRequired))
	}
	if cp.Spec.Version == "" {
		l.Refuse(field.Required(specPath.Child("version"), versionRequired))
	} else if _, err := version.Parse(cp.Spec.Version); err != nil {
		l.Refuse(field.Invalid(specPath.Child("version"), cp.Spec.Version,
			"this is not an RKE2 release: set it to vX.Y.Z+rke2rN, for example v1.36.3+rke2r1, or a pre-release such as v1.36.0-rc2+rke2r1"))
	}
	size(&l, &cp.Spec)
	annotations(&l, cp)
	return l
}

// size checks the number of servers against what depends on it.
func size(l *finding.List, spec *controlplanev1.RKE2ControlPlaneSpec) {
	path, n := specPath.Child("replicas"), spec.ReplicasOrDefault()
	embedded := spec.ServerConfig.ExternalDatastoreSecret == nil
	switch {
	case n < 1:
		l.Refuse(field.Invalid(path, n, replicasTooFew))
	case n%2 == 0 && embedded:
		l.Warn(path, "%d servers survive the loss of %d, no more than %d servers do, because etcd needs more than half of its members: use %d or %d",
			n, (n-1)/2, n-1, n-1, n+1)
	}
	if spec.MaxSurgeOrDefault() == 0 && n < 3 {
		strategy := specPath.Child("rolloutStrategy")
		if maxSurge(spec.Rollout.Strategy) != nil {
			strategy = specPath.Child("rollout", "strategy")
		}
		l.Refuse(field.Invalid(maxSurgePath(strategy), 0, maxSurgeNeedsServers))
	}
	name := spec.AgentConfig.NodeName
	if !bootstrap.IsConstant(name) {
		return
	}
	path = specPath.Child("agentConfig", "nodeName")
	if n > 1 {
		l.Refuse(field.Invalid(path, name, "several servers cannot have one name, RKE2 refuses the second: use a cloud-init variable such as {{ ds.meta_data.local_hostname }}, or take it out"))
		return
	}
	l.Warn(path, "%q: a replacement would have to have the same name while the server is still there, which RKE2 refuses, so this control plane "+
		"cannot be upgraded: use a cloud-init variable such as {{ ds.meta_data.local_hostname }}, or take it out", name)
}

// initialized tells whether a first server has come up. The annotation says so
// after a move to another management cluster, which the status does not survive.
func initialized(cp *controlplanev1.RKE2ControlPlane) bool {
	return ptr.Deref(cp.Status.Initialization.ControlPlaneInitialized, false) || cp.Annotations[controlplanev1.InitializedAnnotation] == "true"
}
