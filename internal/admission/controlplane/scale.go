package controlplane

import (
	"context"
	"fmt"
	"net/http"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// scaler checks a change of the number of servers through the scale
// subresource, which the other webhooks do not see.
type scaler struct {
	reader         client.Reader
	decoder        admission.Decoder
	crossNamespace bool
}

// Handle answers as if the control plane itself had been changed, with what
// only the number of servers brings up.
func (s *scaler) Handle(ctx context.Context, req admission.Request) admission.Response {
	scale := &autoscalingv1.Scale{}
	if err := s.decoder.DecodeRaw(req.Object, scale); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	key := client.ObjectKey{Namespace: req.Namespace, Name: req.Name}
	stored := &controlplanev1.RKE2ControlPlane{}
	if err := s.reader.Get(ctx, key, stored); apierrors.IsNotFound(err) {
		return admission.Allowed("") // the API server says so itself
	} else if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("get RKE2ControlPlane %s to check its number of servers: %w", key, err))
	}
	if !stored.DeletionTimestamp.IsZero() {
		return admission.Allowed("")
	}
	object := stored.DeepCopy()
	object.Spec.Replicas = ptr.To(scale.Spec.Replicas)
	found := Validate(stored, object, s.crossNamespace).Since(Validate(stored, stored, s.crossNamespace))
	response := admission.Allowed("")
	if len(found.Errors) > 0 {
		err := apierrors.NewInvalid(controlplanev1.GroupVersion.WithKind("RKE2ControlPlane").GroupKind(), req.Name, found.Errors)
		response = admission.Denied("")
		response.Result = &err.ErrStatus
	}
	return response.WithWarnings(found.Warnings...)
}
