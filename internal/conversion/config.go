package conversion

import (
	"context"

	"k8s.io/utils/ptr"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// configToHub converts an RKE2Config from v1beta1 to v1beta2.
func configToHub(_ context.Context, src *bootstrapv1beta1.RKE2Config, dst *bootstrapv1.RKE2Config) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	kept := takeKept[bootstrapv1.RKE2Config](dst)
	dst.Spec = src.Spec
	dst.Status = configStatusToHub(src.Status)
	if src.Status.Ready == ptr.Deref(kept.Status.Initialization.DataSecretCreated, false) {
		dst.Status.Initialization = kept.Status.Initialization
	}
	if same(configStatusFromHub(dst.Status), src.Status) {
		return nil
	}
	return keep(&bootstrapv1beta1.RKE2Config{Status: src.Status}, dst)
}

// configFromHub converts an RKE2Config from v1beta2 to v1beta1.
func configFromHub(_ context.Context, src *bootstrapv1.RKE2Config, dst *bootstrapv1beta1.RKE2Config) error {
	src = src.DeepCopy()
	dst.ObjectMeta = src.ObjectMeta
	kept := takeKept[bootstrapv1beta1.RKE2Config](dst)
	dst.Spec = src.Spec
	dst.Status = configStatusFromHub(src.Status)
	if same(dst.Status, configStatusFromHub(configStatusToHub(kept.Status))) {
		dst.Status = kept.Status
	}
	if same(configStatusToHub(dst.Status), src.Status) {
		return nil
	}
	return keep(&bootstrapv1.RKE2Config{Status: bootstrapv1.RKE2ConfigStatus{Initialization: src.Status.Initialization}}, dst)
}

func configStatusToHub(src bootstrapv1beta1.RKE2ConfigStatus) bootstrapv1.RKE2ConfigStatus {
	dst := common[bootstrapv1.RKE2ConfigStatus](src)
	if src.Ready {
		dst.Initialization.DataSecretCreated = ptr.To(true)
	}
	if src.V1Beta2 != nil {
		dst.Conditions = src.V1Beta2.Conditions
	}
	return dst
}

func configStatusFromHub(src bootstrapv1.RKE2ConfigStatus) bootstrapv1beta1.RKE2ConfigStatus {
	dst := common[bootstrapv1beta1.RKE2ConfigStatus](src)
	dst.Ready = ptr.Deref(src.Initialization.DataSecretCreated, false)
	dst.Conditions = configConditions(src.Conditions)
	if len(src.Conditions) > 0 {
		dst.V1Beta2 = &bootstrapv1beta1.RKE2ConfigV1Beta2Status{Conditions: src.Conditions}
	}
	return dst
}

// configTemplateToHub converts an RKE2ConfigTemplate from v1beta1 to v1beta2. Only the version differs; an annotation
// another provider left has nothing to add.
func configTemplateToHub(_ context.Context, src *bootstrapv1beta1.RKE2ConfigTemplate, dst *bootstrapv1.RKE2ConfigTemplate) error {
	src = src.DeepCopy()
	dst.ObjectMeta, dst.Spec = src.ObjectMeta, src.Spec
	takeKept[bootstrapv1.RKE2ConfigTemplate](dst)
	return nil
}

// configTemplateFromHub converts an RKE2ConfigTemplate from v1beta2 to v1beta1.
func configTemplateFromHub(_ context.Context, src *bootstrapv1.RKE2ConfigTemplate, dst *bootstrapv1beta1.RKE2ConfigTemplate) error {
	src = src.DeepCopy()
	dst.ObjectMeta, dst.Spec = src.ObjectMeta, src.Spec
	takeKept[bootstrapv1beta1.RKE2ConfigTemplate](dst)
	return nil
}
