package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

type (
	controlPlane = controlplanev1.RKE2ControlPlane
	spec         = controlplanev1.RKE2ControlPlaneSpec
	want         = findingtest.Want
)

// valid returns a control plane nothing can be said against, changed.
func valid(changes ...func(*controlPlane)) *controlPlane {
	cp := &controlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: "cp"},
		Spec: spec{
			Replicas: ptr.To[int32](3),
			Version:  "v1.35.3+rke2r1",
			MachineTemplate: controlplanev1.RKE2ControlPlaneMachineTemplate{Spec: controlplanev1.RKE2ControlPlaneMachineTemplateSpec{
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "LabMachineTemplate", Name: "servers"},
			}},
		},
	}
	for _, change := range changes {
		change(cp)
	}
	return cp
}

func replicas(n int32) func(*controlPlane) {
	return func(cp *controlPlane) { cp.Spec.Replicas = &n }
}

func surge(value intstr.IntOrString) func(*controlPlane) {
	return func(cp *controlPlane) {
		cp.Spec.RolloutStrategy = &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &value}}
	}
}

func externalDatastore(cp *controlPlane) {
	cp.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Name: "datastore"}
}

func nodeName(name string) func(*controlPlane) {
	return func(cp *controlPlane) { cp.Spec.AgentConfig.NodeName = name }
}

func running(version string) func(*controlPlane) {
	return func(cp *controlPlane) {
		cp.Status.Version = version
		cp.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	}
}

func asked(version string) func(*controlPlane) {
	return func(cp *controlPlane) { cp.Spec.Version = version }
}
