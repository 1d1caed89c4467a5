package serve

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
)

// refusing finds one error and one warning in everything.
var refusing = &validator[*controlplanev1.RKE2ControlPlane]{
	kind: controlplanev1.GroupVersion.WithKind("RKE2ControlPlane").GroupKind(),
	find: func(_, _ *controlplanev1.RKE2ControlPlane) finding.List {
		return finding.List{
			Errors:   field.ErrorList{field.Required(field.NewPath("spec", "version"), "set it")},
			Warnings: []string{"w"},
		}
	},
}

func request(ctx context.Context, dryRun bool) context.Context {
	return admission.NewContextWithRequest(ctx, admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: ptr.To(dryRun)}})
}

func TestAnswers(t *testing.T) {
	plain := metav1.ObjectMeta{Name: "cp"}
	tried := metav1.ObjectMeta{Name: "cp", Annotations: map[string]string{clusterv1.TopologyDryRunAnnotation: ""}}
	deleted := metav1.ObjectMeta{Name: "cp", DeletionTimestamp: &metav1.Time{}}
	deleted.DeletionTimestamp.Time = metav1.Now().Time
	owned := func(kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "cp", OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "o"}}}
	}
	for name, c := range map[string]struct {
		meta     metav1.ObjectMeta
		update   bool
		dryRun   bool
		refused  bool
		warnings int
	}{
		"created":                                   {meta: plain, refused: true, warnings: 1},
		"changed":                                   {meta: plain, update: true, refused: true, warnings: 1},
		"being deleted":                             {meta: deleted, update: true},
		"tried out by a user":                       {meta: plain, dryRun: true, refused: true, warnings: 1},
		"tried out by the topology controller":      {meta: tried, dryRun: true, refused: true},
		"change tried out by it":                    {meta: tried, update: true, dryRun: true, refused: true},
		"with its annotation, but for good":         {meta: tried, refused: true, warnings: 1},
		"created with an owner":                     {meta: owned("Machine"), warnings: 2},
		"changed with an owner":                     {meta: owned("Machine"), update: true, refused: true, warnings: 1},
		"created with the shim of a topology alone": {meta: owned("Secret"), refused: true, warnings: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, object := request(t.Context(), c.dryRun), &controlplanev1.RKE2ControlPlane{ObjectMeta: c.meta}
			var warnings admission.Warnings
			var err error
			if c.update {
				warnings, err = refusing.ValidateUpdate(ctx, object, object)
			} else {
				warnings, err = refusing.ValidateCreate(ctx, object)
			}
			if (err != nil) != c.refused || len(warnings) != c.warnings {
				t.Fatalf("got %v and warnings %q", err, warnings)
			}
			if err != nil && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(),
				`RKE2ControlPlane.controlplane.cluster.x-k8s.io "cp" is invalid: spec.version: Required value: set it`)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDeletionsPass(t *testing.T) {
	if warnings, err := refusing.ValidateDelete(t.Context(), &controlplanev1.RKE2ControlPlane{}); err != nil || warnings != nil {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestPaths(t *testing.T) {
	gvk := controlplanev1.GroupVersion.WithKind("RKE2ControlPlane")
	if got, want := Path("mutate", gvk), "/mutate-controlplane-cluster-x-k8s-io-v1beta2-rke2controlplane"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
