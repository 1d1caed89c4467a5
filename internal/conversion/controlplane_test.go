package conversion

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	conversionutil "sigs.k8s.io/cluster-api/util/conversion"

	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

const infrastructure = "infrastructure.cluster.x-k8s.io"

// oldRef is a reference as v1beta1 manifests have it.
func oldRef(name, version string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: infrastructure + "/" + version, Kind: "DockerMachineTemplate", Name: name}
}

// newRef is the same in v1beta2.
func newRef(name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "DockerMachineTemplate", Name: name}
}

func lasting(d time.Duration) *metav1.Duration {
	return &metav1.Duration{Duration: d}
}

func controlPlane(spec controlplanev1beta1.RKE2ControlPlaneSpec) *controlplanev1beta1.RKE2ControlPlane {
	return &controlplanev1beta1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cp"}, Spec: spec}
}

func toHub(t *testing.T, src *controlplanev1beta1.RKE2ControlPlane) *controlplanev1.RKE2ControlPlane {
	t.Helper()
	dst := &controlplanev1.RKE2ControlPlane{}
	if err := controlPlaneToHub(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

func fromHub(t *testing.T, src *controlplanev1.RKE2ControlPlane) *controlplanev1beta1.RKE2ControlPlane {
	t.Helper()
	dst := &controlplanev1beta1.RKE2ControlPlane{}
	if err := controlPlaneFromHub(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	return dst
}

// Every older shape of what Machines are made from, and what it means in v1beta2. All come back as they were.
func TestOlderShapes(t *testing.T) {
	type spec = controlplanev1beta1.RKE2ControlPlaneSpec
	type template = controlplanev1beta1.RKE2ControlPlaneMachineTemplate
	type newSpec = controlplanev1.RKE2ControlPlaneMachineTemplateSpec
	type deletion = controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec
	for name, c := range map[string]struct {
		old  spec
		want newSpec
	}{
		"reference of the machine template": {
			spec{MachineTemplate: template{InfrastructureRef: oldRef("a", "v1beta1")}},
			newSpec{InfrastructureRef: newRef("a")}},
		"deprecated reference": {
			spec{InfrastructureRef: oldRef("a", "v1alpha4")},
			newSpec{InfrastructureRef: newRef("a")}},
		"both references, one meaning": {
			spec{InfrastructureRef: oldRef("a", "v1alpha4"), MachineTemplate: template{InfrastructureRef: oldRef("a", "v1beta1")}},
			newSpec{InfrastructureRef: newRef("a")}},
		"both references, two meanings": {
			spec{InfrastructureRef: oldRef("a", "v1beta1"), MachineTemplate: template{InfrastructureRef: oldRef("b", "v1beta1")}},
			newSpec{InfrastructureRef: newRef("b")}},
		"a reference of the machine template that names nothing": {
			spec{InfrastructureRef: oldRef("a", "v1beta1"), MachineTemplate: template{InfrastructureRef: corev1.ObjectReference{Namespace: "team"}}},
			newSpec{InfrastructureRef: newRef("a")}},
		"reference without apiVersion, for admission to refuse": {
			spec{MachineTemplate: template{InfrastructureRef: corev1.ObjectReference{Kind: "K", Name: "a"}}},
			newSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "K", Name: "a"}}},
		"reference with all fields": {
			spec{MachineTemplate: template{InfrastructureRef: corev1.ObjectReference{
				APIVersion: infrastructure + "/v1", Kind: "K", Name: "a", Namespace: "else", UID: "1", ResourceVersion: "2", FieldPath: "f"}}},
			newSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: infrastructure, Kind: "K", Name: "a"}}},
		"durations": {
			spec{MachineTemplate: template{NodeDrainTimeout: lasting(2 * time.Minute), NodeVolumeDetachTimeout: lasting(0), NodeDeletionTimeout: lasting(1)}},
			newSpec{Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](120), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](0), NodeDeletionTimeoutSeconds: ptr.To[int32](1)}}},
		"durations out of range": {
			spec{MachineTemplate: template{NodeDrainTimeout: lasting(math.MaxInt64), NodeVolumeDetachTimeout: lasting(-1500 * time.Millisecond), NodeDeletionTimeout: lasting(math.MinInt64)}},
			newSpec{Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](math.MaxInt32), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](-1), NodeDeletionTimeoutSeconds: ptr.To[int32](math.MinInt32)}}},
		"deprecated drain timeout": {
			spec{NodeDrainTimeout: lasting(90 * time.Second)},
			newSpec{Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](90)}}},
		"both drain timeouts": {
			spec{NodeDrainTimeout: lasting(time.Hour), MachineTemplate: template{NodeDrainTimeout: lasting(time.Minute)}},
			newSpec{Deletion: deletion{NodeDrainTimeoutSeconds: ptr.To[int32](60)}}},
		"nothing": {spec{}, newSpec{}},
	} {
		t.Run(name, func(t *testing.T) {
			hub := toHub(t, controlPlane(c.old))
			equal(t, "v1beta2", c.want, hub.Spec.MachineTemplate.Spec)
			equal(t, "v1beta1 again", controlPlane(c.old), fromHub(t, hub))
		})
	}
}

// The fields both versions have are the same on both sides, and unset ones stay unset for defaulting to fill.
func TestCommonFields(t *testing.T) {
	old := controlPlane(controlplanev1beta1.RKE2ControlPlaneSpec{
		Replicas: ptr.To[int32](3), RegistrationMethod: controlplanev1.RegistrationAddress, RegistrationAddress: "10.0.0.1",
		MachineTemplate: controlplanev1beta1.RKE2ControlPlaneMachineTemplate{
			ObjectMeta: clusterv1beta1.ObjectMeta{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{}}},
	})
	old.Spec.PreRKE2Commands = []string{"true"}
	want := controlplanev1.RKE2ControlPlaneSpec{
		Replicas: ptr.To[int32](3), RegistrationMethod: controlplanev1.RegistrationAddress, RegistrationAddress: "10.0.0.1",
		MachineTemplate: controlplanev1.RKE2ControlPlaneMachineTemplate{
			ObjectMeta: clusterv1.ObjectMeta{Labels: map[string]string{"a": "b"}}},
	}
	want.PreRKE2Commands = []string{"true"}
	hub := toHub(t, old)
	equal(t, "v1beta2", want, hub.Spec)
	if hub.Spec.RolloutStrategy != nil {
		t.Error("rolloutStrategy is set: that is for defaulting to do")
	}
	if hub.Spec.Version != "" {
		t.Errorf("version %q was made up", hub.Spec.Version)
	}
	if len(hub.Annotations) != 0 {
		t.Errorf("nothing would be lost, yet there are annotations: %v", hub.Annotations)
	}
}

// Empty metadata may not reach v1beta2 as an empty object, which its schema refuses.
func TestEmptyMetadataIsLeftOut(t *testing.T) {
	old := controlPlane(controlplanev1beta1.RKE2ControlPlaneSpec{})
	old.Spec.MachineTemplate.ObjectMeta = clusterv1beta1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}
	if got := toHub(t, old).Spec.MachineTemplate.ObjectMeta; got.Labels != nil || got.Annotations != nil {
		t.Errorf("got %#v, want maps that are nil", got)
	}
}

// After a change in v1beta2, v1beta1 says what was changed and keeps what was not.
func TestChangeInV1Beta2Wins(t *testing.T) {
	old := controlPlane(controlplanev1beta1.RKE2ControlPlaneSpec{
		InfrastructureRef: oldRef("a", "v1alpha4"),
		NodeDrainTimeout:  lasting(1500 * time.Millisecond),
		MachineTemplate:   controlplanev1beta1.RKE2ControlPlaneMachineTemplate{NodeDeletionTimeout: lasting(500 * time.Millisecond)},
	})
	inTeam := func(ref corev1.ObjectReference) corev1.ObjectReference {
		ref.Namespace = "team"
		return ref
	}
	hub := toHub(t, old)
	hub.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "b"
	got := fromHub(t, hub).Spec
	equal(t, "deprecated reference", corev1.ObjectReference{}, got.InfrastructureRef)
	equal(t, "reference, with its former version", inTeam(oldRef("b", "v1alpha4")), got.MachineTemplate.InfrastructureRef)
	equal(t, "deprecated drain timeout", old.Spec.NodeDrainTimeout, got.NodeDrainTimeout)

	hub.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "Other"
	hub.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](30)
	got = fromHub(t, hub).Spec
	want := corev1.ObjectReference{APIVersion: infrastructure + "/v1beta1", Kind: "Other", Name: "b", Namespace: "team"}
	equal(t, "reference to another kind", want, got.MachineTemplate.InfrastructureRef)
	equal(t, "deprecated drain timeout", (*metav1.Duration)(nil), got.NodeDrainTimeout)
	equal(t, "drain timeout", lasting(30*time.Second), got.MachineTemplate.NodeDrainTimeout)
	equal(t, "deletion timeout", lasting(500*time.Millisecond), got.MachineTemplate.NodeDeletionTimeout)

	hub.Spec.MachineTemplate.Spec = controlplanev1.RKE2ControlPlaneMachineTemplateSpec{}
	equal(t, "all removed", controlplanev1beta1.RKE2ControlPlaneSpec{}, fromHub(t, hub).Spec)
}

// What another provider of this API, or somebody, left in the annotation.
func TestForeignAnnotations(t *testing.T) {
	whole := `{"spec":{"version":"v1.30.0+rke2r1","machineTemplate":{"spec":{"infrastructureRef":{"apiGroup":"x","kind":"Y","name":"stale"}}},` +
		`"rolloutStrategy":{"type":"RollingUpdate"}},"status":{"initialization":{"controlPlaneInitialized":false},"replicas":3,"unknown":[1]}}`
	for name, c := range map[string]struct {
		data string
		want controlplanev1.RKE2ControlPlaneStatus
	}{
		"a whole v1beta2 object": {whole, controlplanev1.RKE2ControlPlaneStatus{
			Replicas:       ptr.To[int32](3),
			Initialization: controlplanev1.RKE2ControlPlaneInitializationStatus{ControlPlaneInitialized: ptr.To(false)}}},
		"not JSON":           {"{", controlplanev1.RKE2ControlPlaneStatus{Replicas: ptr.To[int32](3)}},
		"of another type":    {`{"status":{"selector":"kept","replicas":"three"}}`, controlplanev1.RKE2ControlPlaneStatus{Replicas: ptr.To[int32](3)}},
		"says another count": {`{"status":{"replicas":5}}`, controlplanev1.RKE2ControlPlaneStatus{Replicas: ptr.To[int32](3)}},
	} {
		t.Run(name, func(t *testing.T) {
			old := controlPlane(controlplanev1beta1.RKE2ControlPlaneSpec{Version: "v1.31.0+rke2r1"})
			old.Spec.MachineTemplate.InfrastructureRef = oldRef("a", "v1beta1")
			old.Status.Replicas, old.Status.UnavailableReplicas = 3, 3
			hub := toHub(t, withData(old, c.data))
			equal(t, "reference", newRef("a"), hub.Spec.MachineTemplate.Spec.InfrastructureRef)
			equal(t, "version", "v1.31.0+rke2r1", hub.Spec.Version)
			equal(t, "status", c.want, hub.Status)
			if hub.Annotations[conversionutil.DataAnnotation] == c.data {
				t.Error("the annotation was passed on")
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	old := &controlplanev1beta1.RKE2ControlPlaneTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "class"}}
	old.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b"}
	old.Spec.Template.Spec = controlplanev1beta1.RKE2ControlPlaneSpec{
		Replicas: ptr.To[int32](3), Version: "v1.31.0+rke2r1", InfrastructureRef: oldRef("a", "v1beta1"), NodeDrainTimeout: lasting(time.Minute),
	}
	old.Status = controlplanev1beta1.RKE2ControlPlaneStatus{Ready: true, FailureReason: "none"}
	hub, again := &controlplanev1.RKE2ControlPlaneTemplate{}, &controlplanev1beta1.RKE2ControlPlaneTemplate{}
	if err := controlPlaneTemplateToHub(t.Context(), old, hub); err != nil {
		t.Fatal(err)
	}
	equal(t, "labels", old.Spec.Template.ObjectMeta.Labels, hub.Spec.Template.ObjectMeta.Labels)
	equal(t, "machine template", controlplanev1.RKE2ControlPlaneMachineTemplateSpec{
		InfrastructureRef: newRef("a"),
		Deletion:          controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec{NodeDrainTimeoutSeconds: ptr.To[int32](60)},
	}, hub.Spec.Template.Spec.MachineTemplate.Spec)
	if err := controlPlaneTemplateFromHub(t.Context(), hub, again); err != nil {
		t.Fatal(err)
	}
	equal(t, "v1beta1 again", old, again)

	hub.Spec.Template.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
	if err := controlPlaneTemplateFromHub(t.Context(), hub, again); err != nil {
		t.Fatal(err)
	}
	equal(t, "reference that was removed in v1beta2", corev1.ObjectReference{}, again.Spec.Template.Spec.InfrastructureRef)
	equal(t, "version", "v1.31.0+rke2r1", again.Spec.Template.Spec.Version)
}
