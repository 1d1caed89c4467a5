package story

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/drover-project/drover/lab/internal/timeline"
)

func TestRestlessConditions(t *testing.T) {
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	log := &timeline.Log{}
	for _, e := range []timeline.Event{
		{At: started.Add(-time.Minute), Object: "Available", Detail: "False NotAvailable: coming up"},
		{At: started.Add(1 * time.Second), Object: "Available", Detail: "True Available:"},
		{At: started.Add(2 * time.Second), Object: "RollingOut", Detail: "False NotRollingOut:"},
		{At: started.Add(3 * time.Second), Object: "ScalingUp", Detail: "True ScalingUp:"},
		{At: started.Add(4 * time.Second), Object: "RollingOut", Detail: "True RollingOut: 1 of 3"},
		{At: started.Add(5 * time.Second), Object: "Available", Detail: "Unknown InspectionFailed: no answer"},
	} {
		e.Kind = timeline.ControlPlaneState
		log.Append(e)
	}
	w := &takeoverWatch{Cluster: &Cluster{r: &Run{Log: log}}, started: started}
	want := "RollingOut True RollingOut: 1 of 3; Available Unknown InspectionFailed: no answer"
	if got := strings.Join(w.restless(), "; "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPictureTellsWhatWasWritten(t *testing.T) {
	object := func(kind, revision string, generation int64) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: fields{"apiVersion": "v1", "kind": kind}}
		o.SetName("x")
		o.SetUID("1")
		o.SetResourceVersion(revision)
		o.SetGeneration(generation)
		return o
	}
	take := func(revision string, generation int64) *picture {
		return &picture{objects: map[string]*unstructured.Unstructured{
			"Secret x": object("Secret", revision, 0), "Machine x": object("Machine", revision, generation),
		}}
	}
	before := take("7", 1)
	for name, test := range map[string]struct {
		after                     *picture
		rewritten, secretsWritten string
	}{
		"nothing":            {take("7", 1), "", ""},
		"metadata or status": {take("8", 1), "", "Secret x was revision 7, is revision 8"},
		"a spec":             {take("8", 2), "Machine x was 1 generation 1, is 1 generation 2", "Secret x was revision 7, is revision 8"},
	} {
		if got := strings.Join(diff(before.generations(), test.after.generations()), "; "); got != test.rewritten {
			t.Errorf("%s: rewritten %q", name, got)
		}
		if got := strings.Join(diff(before.secretRevisions(), test.after.secretRevisions()), "; "); got != test.secretsWritten {
			t.Errorf("%s: Secrets %q", name, got)
		}
	}
}
