package serve

import (
	"encoding/json"
	"net/http"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// handler defaults two fields, one of them deep inside.
func handler(t *testing.T) *defaulter[*controlplanev1.RKE2ControlPlane] {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := controlplanev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &defaulter[*controlplanev1.RKE2ControlPlane]{
		decoder: admission.NewDecoder(scheme),
		empty:   func() *controlplanev1.RKE2ControlPlane { return &controlplanev1.RKE2ControlPlane{} },
		set: func(cp *controlplanev1.RKE2ControlPlane) {
			if cp.Spec.Replicas == nil {
				cp.Spec.Replicas = ptr.To[int32](1)
			}
			if deletion := &cp.Spec.MachineTemplate.Spec.Deletion; deletion.NodeDrainTimeoutSeconds == nil {
				deletion.NodeDrainTimeoutSeconds = ptr.To[int32](120)
			}
		},
	}
}

// answer sends an object to the handler and applies the patch it answers with.
func answer(t *testing.T, object string) string {
	t.Helper()
	response := handler(t).Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: []byte(object)},
	}})
	if !response.Allowed {
		t.Fatalf("refused: %v", response.Result)
	}
	operations, err := json.Marshal(response.Patches)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return string(patched)
}

const kind = `"apiVersion":"controlplane.cluster.x-k8s.io/v1beta2","kind":"RKE2ControlPlane"`

func TestDefaultsAreAddedAndNothingElse(t *testing.T) {
	const defaults = `"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":120}}},"replicas":1`
	for name, c := range map[string]struct{ object, want string }{
		"no spec": {
			`{` + kind + `}`,
			`{` + kind + `,"spec":{` + defaults + `}}`},
		"nothing set": {
			`{` + kind + `,"spec":{}}`,
			`{` + kind + `,"spec":{` + defaults + `}}`},
		"all set": {
			`{` + kind + `,"spec":{"replicas":3,"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":0}}}}}`,
			`{` + kind + `,"spec":{"replicas":3,"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":0}}}}}`},
		"forms this program would write otherwise": {
			`{` + kind + `,"metadata":{"creationTimestamp":null},"spec":{"remediationStrategy":{"retryPeriod":"90m"},"agentConfig":{},"files":[],"manifestsConfigMapReference":{},"serverConfig":{"cni":""},"replicas":1}}`,
			`{` + kind + `,"metadata":{"creationTimestamp":null},"spec":{"remediationStrategy":{"retryPeriod":"90m"},"agentConfig":{},"files":[],"manifestsConfigMapReference":{},"serverConfig":{"cni":""},"replicas":1,"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":120}}}}}`},
		"fields this program does not know": {
			`{` + kind + `,"spec":{"replicas":1,"later":{"a":[1,{"b":null}]}}}`,
			`{` + kind + `,"spec":{"replicas":1,"later":{"a":[1,{"b":null}]},"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":120}}}}}`},
		"null": {
			`{` + kind + `,"spec":{"replicas":null,"machineTemplate":{"spec":null}}}`,
			`{` + kind + `,"spec":{"machineTemplate":{"spec":{"deletion":{"nodeDrainTimeoutSeconds":120}}},"replicas":1}}`},
		"being deleted": {
			`{` + kind + `,"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}`,
			`{` + kind + `,"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := answer(t, c.object)
			if !jsonpatch.Equal([]byte(got), []byte(c.want)) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if again := answer(t, got); again != got {
				t.Errorf("set twice: %s\nset once:  %s", again, got)
			}
		})
	}
}

func TestUnreadableObject(t *testing.T) {
	response := handler(t).Handle(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Object: runtime.RawExtension{Raw: []byte(`{` + kind + `,"spec":{"replicas":"three"}}`)},
	}})
	if response.Allowed || response.Result.Code != http.StatusBadRequest {
		t.Errorf("got %+v", response)
	}
}
