package conversion

import (
	"reflect"
	"slices"
	"testing"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Every field of a version is either common with the other version or known here to be converted by hand. Whoever adds a
// field to one version, or in two forms, has to say what becomes of it, and the round trips show whether that is true.
func TestWhatIsNotCommonIsKnown(t *testing.T) {
	for _, c := range []struct {
		src, dst any
		byHand   []string
	}{
		{controlplanev1beta1.RKE2ControlPlaneSpec{}, controlplanev1.RKE2ControlPlaneSpec{},
			[]string{"MachineTemplate", "InfrastructureRef", "NodeDrainTimeout"}},
		{controlplanev1.RKE2ControlPlaneSpec{}, controlplanev1beta1.RKE2ControlPlaneSpec{}, []string{"MachineTemplate"}},
		{controlplanev1.RKE2ControlPlaneSpec{}, controlplanev1.RKE2ControlPlaneTemplateResourceSpec{}, []string{"Replicas", "Version"}},
		{controlplanev1.RKE2ControlPlaneTemplateResourceSpec{}, controlplanev1.RKE2ControlPlaneSpec{}, nil},
		{controlplanev1beta1.RKE2ControlPlaneMachineTemplate{}, controlplanev1.RKE2ControlPlaneMachineTemplate{},
			[]string{"ObjectMeta", "InfrastructureRef", "NodeDrainTimeout", "NodeVolumeDetachTimeout", "NodeDeletionTimeout", "ReadinessGates", "Taints"}},
		{controlplanev1.RKE2ControlPlaneMachineTemplateSpec{}, controlplanev1beta1.RKE2ControlPlaneMachineTemplate{},
			[]string{"InfrastructureRef", "Deletion"}},
		{controlplanev1beta1.RKE2ControlPlaneStatus{}, controlplanev1.RKE2ControlPlaneStatus{}, []string{
			"Ready", "Initialized", "DataSecretName", "FailureReason", "FailureMessage", "Conditions", "Replicas", "Version",
			"ReadyReplicas", "UpdatedReplicas", "UnavailableReplicas", "V1Beta2"}},
		{controlplanev1.RKE2ControlPlaneStatus{}, controlplanev1beta1.RKE2ControlPlaneStatus{}, []string{
			"Conditions", "Initialization", "Selector", "Replicas", "ReadyReplicas", "AvailableReplicas", "UpToDateReplicas",
			"Version", "Versions"}},
		{controlplanev1beta1.RKE2ControlPlaneV1Beta2Status{}, controlplanev1.RKE2ControlPlaneStatus{}, nil},
		{bootstrapv1beta1.RKE2ConfigStatus{}, bootstrapv1.RKE2ConfigStatus{},
			[]string{"Ready", "FailureReason", "FailureMessage", "Conditions", "V1Beta2"}},
		{bootstrapv1.RKE2ConfigStatus{}, bootstrapv1beta1.RKE2ConfigStatus{}, []string{"Initialization", "Conditions"}},
	} {
		src, dst := reflect.TypeOf(c.src), reflect.TypeOf(c.dst)
		var differ []string
		for i := range src.NumField() {
			if _, ok := counterpart(src.Field(i), dst); !ok {
				differ = append(differ, src.Field(i).Name)
			}
		}
		slices.Sort(differ)
		slices.Sort(c.byHand)
		equal(t, src.String()+" to "+dst.String(), c.byHand, differ)
	}
}

// A field that is named alike but differs in type, or that only an embedded struct has, is not common.
func TestCommon(t *testing.T) {
	type Inner struct{ Deep string }
	type source struct {
		Inner
		Same, Gone string
		Other      int
	}
	type target struct {
		Deep, Same string
		Other      int32
		New        bool
	}
	equal(t, "common fields", target{Same: "a"}, common[target](source{Inner: Inner{"d"}, Same: "a", Gone: "b", Other: 3}))
	equal(t, "embedded", source{Inner: Inner{"d"}, Other: 1}, common[source](struct {
		Inner
		Other int
	}{Inner{"d"}, 1}))
}
