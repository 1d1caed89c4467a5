package compat

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetName(name)
	if spec != nil {
		o.Object["spec"] = spec
	}
	return o
}

func TestKubectlLinesArePairedWithObjects(t *testing.T) {
	objects := []*unstructured.Unstructured{object("Namespace", "a", nil), object("Cluster", "b", nil)}
	outcomes, err := paired("namespace/a created\ncluster.cluster.x-k8s.io/b unchanged\n", objects)
	if err != nil {
		t.Fatal(err)
	}
	if outcomes[0].change != "created" || outcomes[1].change != "unchanged" {
		t.Errorf("got %+v", outcomes)
	}
	for name, stdout := range map[string]string{"too few": "namespace/a created\n", "another": "namespace/a created\ncluster/c created\n"} {
		if _, err := paired(stdout, objects); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSentence(t *testing.T) {
	for stderr, want := range map[string]string{
		"The RKE2ControlPlane \"a\" is invalid: \n* spec.version: Required value\n* <nil>: Invalid value: null: some validation rules were not checked\n": "spec.version: Required value",
		"Error from server (Forbidden): error when creating \"STDIN\": admission webhook \"x.y\" denied the request: no\n":                                "no",
		"Warning: old\nError from server (BadRequest): error when creating \"STDIN\": strict decoding error: unknown field \"a\"\n":                       "strict decoding error: unknown field \"a\"",
	} {
		if got := sentence(stderr); got != want {
			t.Errorf("%q: got %q, want %q", stderr, got, want)
		}
	}
	if got := warningsOf("Warning: old\nerror: x\n"); len(got) != 1 || got[0] != "old" {
		t.Errorf("got %q", got)
	}
}

func TestSlipExplainsOnlyItsOwnRefusal(t *testing.T) {
	right := outcome{object: object("RKE2ControlPlane", "metal3", nil), refusal: "spec.version: Required value"}
	if find(metal3File, right) == nil {
		t.Error("the slip is not found")
	}
	for name, test := range map[string]struct {
		file    string
		outcome outcome
	}{
		"another file":     {openStackFile, right},
		"another kind":     {metal3File, outcome{object: object("Cluster", "metal3", nil), refusal: right.refusal}},
		"another sentence": {metal3File, outcome{object: right.object, refusal: "spec.replicas: Invalid value"}},
		"kubectl's check":  {metal3File, outcome{object: right.object, refusal: right.refusal, onlyStrict: true}},
	} {
		if s := find(test.file, test.outcome); s != nil {
			t.Errorf("%s is explained by %q", name, s.why)
		}
	}
}

// judging returns what is said about the outcomes of a file without slips of its own to mend.
func judging(t *testing.T, file string, outcomes ...outcome) *row {
	t.Helper()
	c := &check{sample: &sample{path: file}, row: &row{file: file}}
	if err := c.judge(t.Context(), outcomes); err != nil {
		t.Fatal(err)
	}
	return c.row
}

func TestUnexplainedRefusalIsAFault(t *testing.T) {
	got := judging(t, "a.yaml", outcome{object: object("Cluster", "a", nil), change: "created"},
		outcome{object: object("RKE2ControlPlane", "a", nil), refusal: "no reason"})
	if got.accepted != 1 || got.unexplained != 1 || len(got.faults) != 1 || !strings.Contains(got.faults[0], "no reason") {
		t.Errorf("got %+v", got)
	}
}

func TestSlipThatIsAcceptedIsAFault(t *testing.T) {
	got := judging(t, awsFile, outcome{object: object(deploymentKind, "a", nil), change: "created"})
	if len(got.faults) != 1 || !strings.Contains(got.faults[0], "any more") {
		t.Errorf("got %+v", got)
	}
}

func TestKindsWithTheSameSlipShareANote(t *testing.T) {
	a := &slip{kind: "A", sentence: "group", why: "no group"}
	b := &slip{kind: "B", sentence: "group", why: "no group"}
	other := &slip{kind: "C", sentence: "field", why: "unknown", onlyStrict: true}
	got := tell([]explanation{{a, outcome{refusal: "first; the group is missing"}}, {other, outcome{refusal: "field"}}, {b, outcome{refusal: "group"}}})
	want := []string{"A, B refused: no group (the group is missing)", "C accepted with `kubectl apply --validate=warn` only: unknown (field)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestSlipsOfFilesThatAreGone(t *testing.T) {
	if got := outdated([]*sample{{path: "mine.yaml"}}); got != nil {
		t.Errorf("other samples: got %v", got)
	}
	got := outdated([]*sample{{path: awsFile}, {path: metal3File}, {path: moveFile}, {path: openStackFile}})
	if want := []string{multusFile}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMending(t *testing.T) {
	reference := map[string]any{"kind": "A", "name": "a", "apiVersion": "x.y/v1"}
	o := object("Cluster", "a", map[string]any{"controlPlaneRef": reference})
	s := &slip{mend: func(spec map[string]any) { eachReference(spec, groupOfVersion) }}
	want := map[string]any{"controlPlaneRef": map[string]any{"kind": "A", "name": "a", "apiGroup": "x.y"}}
	if changes := specDifference(want, s.mended(o).Object["spec"]); changes != "" {
		t.Error(changes)
	}
	if reference["apiVersion"] == nil {
		t.Error("the sample itself was changed")
	}
}

func TestDifference(t *testing.T) {
	before := map[string]any{"same": int64(1), "changed": "a", "gone": []any{"x"}}
	after := map[string]any{"same": int64(1), "changed": "b", "new": true}
	want := "spec.changed: a became b; spec.gone: [x] became nothing; spec.new: nothing became true"
	if got := specDifference(before, after); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := specDifference(before, before); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestTable(t *testing.T) {
	rows := []row{
		{file: "a/good.yaml", accepted: 9, objects: 9, runs: true, servers: 1, workers: 2},
		{file: "a/slip.yaml", accepted: 8, objects: 9, notes: []string{strings.Repeat("word ", 40)}},
		{file: "b/metadata.yaml", notManifest: "its kind Metadata is read by clusterctl, not by an API server"},
	}
	var out bytes.Buffer
	if !printTable(&out, rows) {
		t.Error("a table without faults fails")
	}
	for _, want := range []string{
		"\na/\n", "9 of 9    0 of 3", "\nb/\n", "–         –          not a manifest", "not a manifest: its kind Metadata",
		"2 manifests, 1 other file; 17 of 18 objects accepted as they stand; 0 of 3 Machines replaced; 0 unexplained refusals",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for line := range strings.Lines(out.String()) {
		if columns := len([]rune(strings.TrimRight(line, "\n"))); columns > width {
			t.Errorf("a line has %d columns: %s", columns, line)
		}
	}
	rows[0].fault("something")
	if printTable(&out, rows) {
		t.Error("a table with a fault passes")
	}
}
