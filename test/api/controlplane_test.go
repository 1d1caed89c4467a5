package api_test

import (
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// controlPlane returns the smallest control plane that is valid.
func controlPlane() *controlplanev1.RKE2ControlPlane {
	return &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "cp-"},
		Spec: controlplanev1.RKE2ControlPlaneSpec{
			Version:         "v1.36.3+rke2r1",
			MachineTemplate: machineTemplate(),
		},
	}
}

func machineTemplate() controlplanev1.RKE2ControlPlaneMachineTemplate {
	return controlplanev1.RKE2ControlPlaneMachineTemplate{
		Spec: controlplanev1.RKE2ControlPlaneMachineTemplateSpec{
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "LabMachineTemplate", Name: "servers",
			},
		},
	}
}

// surge returns a rollout strategy with a maxSurge and no type.
func surge(value intstr.IntOrString) *controlplanev1.RolloutStrategy {
	return &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &value}}
}

func TestControlPlaneAccepted(t *testing.T) {
	cases := map[string]func(*controlplanev1.RKE2ControlPlaneSpec){
		"minimal":             func(*controlplanev1.RKE2ControlPlaneSpec) {},
		"release candidate":   func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "v1.36.0-rc2+rke2r1" },
		"long numbers":        func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "v1.136.100+rke2r12" },
		"even replicas":       func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Replicas = ptr.To[int32](2) },
		"maxSurge 1":          func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(1)) },
		"strategy, no fields": func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = &controlplanev1.RolloutStrategy{} },
		"maxSurge 0 with 3 replicas": func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.Replicas, s.RolloutStrategy = ptr.To[int32](3), surge(intstr.FromInt32(0))
		},
		"Multus with a CNI": func(s *controlplanev1.RKE2ControlPlaneSpec) {
			s.ServerConfig.CNI, s.ServerConfig.CNIMultusEnable = controlplanev1.Cilium, true
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			object := controlPlane()
			change(&object.Spec)
			if err := kube.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestControlPlaneRefused(t *testing.T) {
	cases := map[string]struct {
		change func(*controlplanev1.RKE2ControlPlaneSpec)
		want   string
	}{
		"no version": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "" },
			"spec.version: Required value: version is required: set it to the RKE2 release of the servers"},
		"registration by an address without one": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.RegistrationMethod = controlplanev1.RegistrationAddress
			},
			"spec.registrationAddress: Required value: registrationAddress is required with registrationMethod address"},
		"unknown kind of rollout": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"}
			},
			"spec.rolloutStrategy.type: Invalid value: \"OnDelete\": the type of a rollout must be RollingUpdate"},
		"no replicas": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Replicas = ptr.To[int32](0) },
			"spec.replicas: Invalid value: 0: replicas must be at least 1"},
		"version without the RKE2 release": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "v1.36.3" },
			"spec.version: Invalid value: \"v1.36.3\": version must be an RKE2 release, vX.Y.Z+rke2rN"},
		"version without the v": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.Version = "1.36.3+rke2r1" },
			"version must be an RKE2 release, vX.Y.Z+rke2rN"},
		"maxSurge 2": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(2)) },
			"spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: 2: maxSurge must be 0 or 1"},
		"maxSurge -1": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(-1)) },
			"maxSurge must be 0 or 1"},
		"maxSurge 25%": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromString("25%")) },
			"maxSurge must be the integer 0 or 1: percentages and other text are refused"},
		"maxSurge 0 with 1 replica": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.Replicas, s.RolloutStrategy = ptr.To[int32](1), surge(intstr.FromInt32(0))
			},
			"maxSurge 0 needs replicas of at least 3"},
		"maxSurge 0 without replicas": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RolloutStrategy = surge(intstr.FromInt32(0)) },
			"maxSurge 0 needs replicas of at least 3"},
		"no machine template": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.MachineTemplate = controlplanev1.RKE2ControlPlaneMachineTemplate{}
			},
			"machineTemplate.spec.infrastructureRef is required"},
		"Multus alone": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.ServerConfig.CNIMultusEnable = true },
			"cniMultusEnable needs cni"},
		"unknown registration method": {
			func(s *controlplanev1.RKE2ControlPlaneSpec) { s.RegistrationMethod = "dns" },
			`supported values: "internal-first"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			object := controlPlane()
			c.change(&object.Spec)
			refused(t, kube.Create(t.Context(), object, client.DryRunAll), c.want)
		})
	}
}

// refused wants a validation error with a text in it.
func refused(t *testing.T, err error, want string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want it refused as invalid", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestRegistrationMethodMayChange(t *testing.T) {
	ctx := t.Context()
	object := controlPlane()
	create(ctx, t, object)

	for _, method := range []controlplanev1.RegistrationMethod{
		controlplanev1.RegistrationInternalFirst, controlplanev1.RegistrationControlPlaneEndpoint, "",
	} {
		object.Spec.RegistrationMethod = method
		if err := kube.Update(ctx, object); err != nil {
			t.Fatalf("method %q: %v", method, err)
		}
	}
	object.Spec.RegistrationMethod = controlplanev1.RegistrationAddress
	refused(t, kube.Update(ctx, object.DeepCopy()), "registrationAddress is required with registrationMethod address")
	object.Spec.RegistrationAddress = "10.0.0.1"
	if err := kube.Update(ctx, object); err != nil {
		t.Fatal(err)
	}
}

func TestScale(t *testing.T) {
	ctx := t.Context()
	object := controlPlane()
	create(ctx, t, object)

	object.Status.Replicas = ptr.To[int32](1)
	object.Status.Selector = "cluster.x-k8s.io/control-plane"
	if err := kube.Status().Update(ctx, object); err != nil {
		t.Fatal(err)
	}

	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	if err := kube.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	scale = &autoscalingv1.Scale{}
	if err := kube.SubResource("scale").Get(ctx, object, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 1 || scale.Status.Selector != object.Status.Selector {
		t.Errorf("got %+v %+v", scale.Spec, scale.Status)
	}

	scale.Spec.Replicas = 0
	refused(t, kube.SubResource("scale").Update(ctx, object, client.WithSubResourceBody(scale)),
		"replicas must be at least 1")
}

func TestStatusVersions(t *testing.T) {
	ctx := t.Context()
	object := controlPlane()
	create(ctx, t, object)

	object.Status.Versions = []clusterv1.StatusVersion{
		{Version: "v1.36.2+rke2r1", Replicas: 2}, {Version: "v1.36.3+rke2r1", Replicas: 1},
	}
	object.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	if err := kube.Status().Update(ctx, object); err != nil {
		t.Fatal(err)
	}
	stored := &controlplanev1.RKE2ControlPlane{}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		t.Fatal(err)
	}
	if len(stored.Status.Versions) != 2 || stored.Status.Versions[0].Version != "v1.36.2+rke2r1" {
		t.Errorf("order not kept: %v", stored.Status.Versions)
	}

	stored.Status.Versions[1].Version = stored.Status.Versions[0].Version
	refused(t, kube.Status().Update(ctx, stored), "Duplicate value")
}
