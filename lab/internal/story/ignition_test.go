package story

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/drover-project/drover/lab/internal/timeline"
)

func TestSpecFormat(t *testing.T) {
	objects, err := packWorkers(Spec{Name: "x", Servers: 1, Workers: 1, Version: versionOld, Format: "ignition"}.Objects())
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]string{}
	for _, o := range objects {
		object := o.(*unstructured.Unstructured)
		for _, path := range [][]string{{"spec", "agentConfig"}, {"spec", "template", "spec", "agentConfig"}} {
			if format, found, _ := unstructured.NestedString(object.Object, append(path, "format")...); found {
				formats[o.GetObjectKind().GroupVersionKind().Kind] = format
			}
		}
		packed, found, _ := unstructured.NestedBool(object.Object, "spec", "template", "spec", "gzipUserData")
		if found != (object.GetKind() == "RKE2ConfigTemplate") || packed != found {
			t.Errorf("%s: gzipUserData %v %v", object.GetKind(), packed, found)
		}
	}
	if len(formats) != 2 || formats["RKE2ControlPlane"] != "ignition" || formats["RKE2ConfigTemplate"] != "ignition" {
		t.Errorf("formats: %v", formats)
	}
}

// withCondition returns an object of the failing worker with one condition.
func withCondition(kind schema.GroupVersionKind, condition, message string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: fields{
		"metadata": fields{"name": failingWorker, "namespace": namespace},
		"status": fields{"conditions": []any{fields{
			"type": condition, "status": "False", "reason": "BootstrapFailed", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}},
	}}
	o.SetGroupVersionKind(kind)
	return o
}

func TestMirroredFailure(t *testing.T) {
	management := fake.NewClientBuilder().WithObjects(
		withCondition(configKind, "BootstrapSucceeded", "step: preRKE2Commands[0]\n"+failureReason),
		withCondition(machineKind, "BootstrapConfigReady", "* BootstrapSucceeded: "+failureReason),
	).Build()
	r := &Run{Log: &timeline.Log{}, start: time.Now(), out: &bytes.Buffer{}, Management: management}
	(&Cluster{r: r}).checkMirrored(t.Context())
	if violations := timeline.Violations(r.findings); len(r.findings) != 2 || len(violations) != 0 {
		t.Errorf("%d findings, violations %+v", len(r.findings), violations)
	}
}
