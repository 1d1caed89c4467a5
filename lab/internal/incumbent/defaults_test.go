package incumbent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAdmitFillsWhatIsMissing(t *testing.T) {
	object := func(kind string, spec fields) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: fields{"kind": kind, "spec": spec}}
	}
	limits := func(drain int64) fields {
		return fields{"spec": fields{"deletion": fields{
			"nodeDrainTimeoutSeconds": drain, "nodeVolumeDetachTimeoutSeconds": int64(300), "nodeDeletionTimeoutSeconds": int64(10),
		}}}
	}
	for _, test := range []struct{ given, want *unstructured.Unstructured }{
		{
			object("RKE2ControlPlane", fields{}),
			object("RKE2ControlPlane", fields{"replicas": int64(1), "agentConfig": fields{"format": "cloud-config"}, "machineTemplate": limits(120)}),
		},
		{
			object("RKE2ControlPlane", fields{
				"replicas": int64(3), "agentConfig": fields{"format": "ignition"},
				"machineTemplate": fields{"spec": fields{"deletion": fields{"nodeDrainTimeoutSeconds": int64(7)}}},
			}),
			object("RKE2ControlPlane", fields{"replicas": int64(3), "agentConfig": fields{"format": "ignition"}, "machineTemplate": limits(7)}),
		},
		{
			object("RKE2ConfigTemplate", fields{"template": fields{}}),
			object("RKE2ConfigTemplate", fields{"template": fields{"spec": fields{"agentConfig": fields{"format": "cloud-config"}}}}),
		},
		{object("Cluster", fields{}), object("Cluster", fields{})},
	} {
		if err := Admit(test.given); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, test.given); diff != "" {
			t.Error(diff)
		}
	}
	if err := Admit(object("RKE2Config", fields{"agentConfig": "text"})); err == nil {
		t.Error("a broken manifest was admitted")
	}
}
