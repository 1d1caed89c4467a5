package story

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/drover-project/drover/lab/internal/timeline"
)

func TestDiff(t *testing.T) {
	before := map[string]string{"same": "1", "changed": "a\nb\nc", "shorter": "a\nb", "lost": "1"}
	after := map[string]string{"same": "1", "changed": "a\nX\nc", "shorter": "a", "new": "1"}
	want := []string{"changed was b, is X", "lost is missing", "new is new", "shorter was b, is nothing"}
	if got := cmp.Diff(want, diff(before, after)); got != "" {
		t.Error(got)
	}
	if got := diff(before, before); len(got) != 0 {
		t.Errorf("a map differs from itself: %v", got)
	}
}

// sampleMachine is a Machine as the API server gives it, with the parts that a test cares for.
func sampleMachine(uid, owner string, change func(fields)) *unstructured.Unstructured {
	object := fields{
		"kind": "Machine",
		"metadata": fields{
			"name": "m", "uid": uid, "resourceVersion": uid, "labels": fields{"a": "b"},
			"ownerReferences": []any{fields{"kind": "MachineSet", "name": "s", "uid": owner, "controller": true}},
		},
		"spec": fields{"version": versionOld},
		"status": fields{
			"observedGeneration": int64(1), "phase": "Running",
			"conditions": []any{fields{"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": uid}},
		},
	}
	change(object)
	return &unstructured.Unstructured{Object: object}
}

func samplePicture(uid string, change func(fields)) *picture {
	set := &unstructured.Unstructured{Object: fields{"kind": "MachineSet", "metadata": fields{"name": "s", "uid": "set-" + uid}}}
	return &picture{objects: map[string]*unstructured.Unstructured{"Machine m": sampleMachine(uid, "set-"+uid, change), "MachineSet s": set}}
}

func set(path ...string) func(fields) {
	return func(o fields) { _ = unstructured.SetNestedField(o, path[len(path)-1], path[:len(path)-1]...) }
}

func TestPicturesCompareMeaning(t *testing.T) {
	before := samplePicture("1", func(fields) {})
	for name, test := range map[string]struct {
		change                func(fields)
		specs, status, owners bool // whether they differ
	}{
		"moved":              {change: func(fields) {}},
		"paused by the move": {change: func(o fields) { _ = unstructured.SetNestedField(o, true, "spec", "paused") }},
		"label":              {change: set("metadata", "labels", "a", "c"), specs: true},
		"spec":               {change: set("spec", "version", versionNew), specs: true},
		"status":             {change: set("status", "phase", "Pending"), status: true},
		"condition": {change: func(o fields) {
			_ = unstructured.SetNestedSlice(o, []any{fields{"type": "Ready", "status": "False", "reason": "NotReady"}}, "status", "conditions")
		}, status: true},
		"no status": {change: func(o fields) { delete(o, "status") }, status: true},
		"owner": {change: func(o fields) {
			_ = unstructured.SetNestedSlice(o, nil, "metadata", "ownerReferences")
		}, owners: true},
	} {
		t.Run(name, func(t *testing.T) {
			after := samplePicture("2", test.change)
			for what, pair := range map[string]struct {
				want bool
				got  []string
			}{
				"specs":  {test.specs, diff(before.specs(), after.specs())},
				"status": {test.status, diff(before.status(), after.status())},
				"owners": {test.owners, diff(before.owners(), after.owners())},
			} {
				if differs := len(pair.got) > 0; differs != pair.want {
					t.Errorf("%s: %v", what, pair.got)
				}
			}
		})
	}
}

func TestDanglingOwnersAreFound(t *testing.T) {
	if got := samplePicture("1", func(fields) {}).dangling(); len(got) != 0 {
		t.Errorf("found %v in a whole picture", got)
	}
	moved := samplePicture("2", func(o fields) {
		_ = unstructured.SetNestedSlice(o, []any{fields{"kind": "MachineSet", "name": "s", "uid": "set-1"}}, "metadata", "ownerReferences")
	})
	if got := strings.Join(moved.dangling(), ", "); got != "Machine m names MachineSet s" {
		t.Errorf("an owner of the other management cluster: %q", got)
	}
}

func TestSecretPrintsTellApartAndTellNothing(t *testing.T) {
	printOf := func(kind corev1.SecretType, data map[string]string) string {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x-token", Labels: map[string]string{clusterv1.ClusterNameLabel: "x"}},
			Type:       kind, Data: map[string][]byte{},
		}
		for k, v := range data {
			secret.Data[k] = []byte(v)
		}
		c := &Cluster{r: &Run{Management: fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).Build()}, Spec: Spec{Name: "x"}}
		prints, err := c.secretPrints(t.Context())
		if err != nil || len(prints) != 1 {
			t.Fatalf("got %v, %v", prints, err)
		}
		return prints["x-token"]
	}
	one := printOf("a", map[string]string{"value": "hidden", "more": ""})
	if again := printOf("a", map[string]string{"more": "", "value": "hidden"}); again != one {
		t.Errorf("%s and %s for the same data", one, again)
	}
	for _, other := range []string{
		printOf("b", map[string]string{"value": "hidden", "more": ""}), printOf("a", map[string]string{"value": "hiddeN", "more": ""}),
		printOf("a", map[string]string{"value": "hidden"}),
	} {
		if other == one {
			t.Error("different Secrets have the same print")
		}
	}
	if strings.Contains(one, "hidden") {
		t.Error("the print holds what is in the Secret")
	}
}

func TestQuietTimeSeesAReplacement(t *testing.T) {
	machine := func(name, uid string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(uid), Labels: map[string]string{clusterv1.ClusterNameLabel: "x"},
		}}
	}
	looks := 0
	lists := interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
		looks++
		machines := list.(*clusterv1.MachineList)
		machines.Items = []clusterv1.Machine{*machine("m", "1")}
		if looks > 2 {
			machines.Items = append(machines.Items, *machine("new", "2"))
		}
		return nil
	}}
	c := &Cluster{
		r: &Run{
			Management: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(lists).Build(),
			Log:        &timeline.Log{}, start: time.Now(), out: &bytes.Buffer{},
		},
		Spec: Spec{Name: "x"},
	}
	if err := c.staysQuiet(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := c.r.findings; len(f) != 1 || f[0].OK || !strings.Contains(f[0].Measured, "new is new") {
		t.Errorf("findings %+v", f)
	}
}

func TestSpeakerSaysWholeLines(t *testing.T) {
	out := &bytes.Buffer{}
	r := &Run{start: time.Now(), out: out}
	words, end := r.speaker("tool")
	for _, part := range []string{"Performing ", "move...\n\n", "done"} {
		_, _ = fmt.Fprint(words, part)
	}
	end()
	for _, want := range []string{"tool: Performing move...\n", "tool: done\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out, want)
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines: %q", n, out)
	}
}
