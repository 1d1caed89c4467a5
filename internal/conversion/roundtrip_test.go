package conversion

import (
	"context"
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	conversionutil "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"
	"sigs.k8s.io/randfill/bytesource"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// An ordinary test run looks at a few objects of each kind, always the same ones. With a time it goes on from a seed of
// its own for that long (make fuzz). This is not a native fuzz test, because what leads it is not coverage but the
// filler, and instrumenting the libraries takes longer than the whole run.
var (
	seeds    = flag.Uint64("seeds", 60, "how many objects of each kind to look at")
	seed     = flag.Uint64("seed", 0, "the first seed")
	fuzztime = flag.Duration("fuzz-time", 0, "look at as many objects of each kind as this time allows instead")
)

func TestRoundTripOfRKE2Config(t *testing.T) {
	fuzz(t, kind[bootstrapv1.RKE2Config, bootstrapv1beta1.RKE2Config, *bootstrapv1.RKE2Config, *bootstrapv1beta1.RKE2Config]{
		configToHub, configFromHub})
}

func TestRoundTripOfRKE2ConfigTemplate(t *testing.T) {
	fuzz(t, kind[bootstrapv1.RKE2ConfigTemplate, bootstrapv1beta1.RKE2ConfigTemplate, *bootstrapv1.RKE2ConfigTemplate, *bootstrapv1beta1.RKE2ConfigTemplate]{
		configTemplateToHub, configTemplateFromHub})
}

func TestRoundTripOfRKE2ControlPlane(t *testing.T) {
	fuzz(t, kind[controlplanev1.RKE2ControlPlane, controlplanev1beta1.RKE2ControlPlane, *controlplanev1.RKE2ControlPlane, *controlplanev1beta1.RKE2ControlPlane]{
		controlPlaneToHub, controlPlaneFromHub})
}

func TestRoundTripOfRKE2ControlPlaneTemplate(t *testing.T) {
	fuzz(t, kind[controlplanev1.RKE2ControlPlaneTemplate, controlplanev1beta1.RKE2ControlPlaneTemplate, *controlplanev1.RKE2ControlPlaneTemplate, *controlplanev1beta1.RKE2ControlPlaneTemplate]{
		controlPlaneTemplateToHub, controlPlaneTemplateFromHub})
}

// object is a pointer to a kind's struct.
type object[T any] interface {
	*T
	client.Object
}

// kind is the two conversions of a kind.
type kind[H, S any, hub object[H], spoke object[S]] struct {
	up   func(context.Context, spoke, hub) error
	down func(context.Context, hub, spoke) error
}

// toHub converts, and checks that this leaves the source as it is.
func (k kind[H, S, hub, spoke]) toHub(t *testing.T, src spoke) hub {
	t.Helper()
	dst, before := hub(new(H)), src.DeepCopyObject()
	if err := k.up(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	equal(t, "source after conversion to v1beta2", before, src)
	return dst
}

func (k kind[H, S, hub, spoke]) fromHub(t *testing.T, src hub) spoke {
	t.Helper()
	dst, before := spoke(new(S)), src.DeepCopyObject()
	if err := k.down(t.Context(), src, dst); err != nil {
		t.Fatal(err)
	}
	equal(t, "source after conversion to v1beta1", before, src)
	return dst
}

// check fills objects and converts them there and back.
func (k kind[H, S, hub, spoke]) check(t *testing.T, fill func(any)) {
	older, newer := spoke(new(S)), hub(new(H))
	fill(older)
	fill(newer)
	olderConverted, newerConverted := k.toHub(t, older), k.fromHub(t, newer)
	equal(t, "v1beta1, after v1beta2", older, withoutData(k.fromHub(t, olderConverted)))
	equal(t, "v1beta2, after v1beta1", newer, withoutData(k.toHub(t, newerConverted)))

	// The API server also sends objects without a spec.
	bare := spoke(new(S))
	bare.SetAnnotations(newerConverted.GetAnnotations())
	k.toHub(t, bare)

	// What is kept of an object must not change what another one says, nor must something unreadable.
	var noise string
	fill(&noise)
	for _, data := range []string{olderConverted.GetAnnotations()[conversionutil.DataAnnotation],
		newerConverted.GetAnnotations()[conversionutil.DataAnnotation], noise} {
		other := hub(new(H))
		fill(other)
		equal(t, "v1beta2 with strange data, after v1beta1", other, withoutData(k.toHub(t, k.fromHub(t, withData(other, data)))))
		older := spoke(new(S))
		fill(older)
		equal(t, "v1beta1 with strange data, after v1beta2", older, withoutData(k.fromHub(t, k.toHub(t, withData(older, data)))))
	}
}

func fuzz[H, S any, hub object[H], spoke object[S]](t *testing.T, k kind[H, S, hub, spoke]) {
	first, enough := *seed, func(done uint64) bool { return done >= *seeds }
	if *fuzztime > 0 {
		if first == 0 {
			first = rand.Uint64()
		}
		end := time.Now().Add(*fuzztime)
		enough = func(uint64) bool { return time.Now().After(end) }
	}
	done := uint64(0)
	for ; !enough(done); done++ {
		k.checkSeed(t, first+done)
	}
	t.Logf("%d objects of each version", done)
}

func (k kind[H, S, hub, spoke]) checkSeed(t *testing.T, seed uint64) {
	passed := false
	defer func() {
		if !passed {
			t.Logf("to look at these objects again: -args -seeds 1 -seed %d", seed)
		}
	}()
	source := bytesource.New(binary.BigEndian.AppendUint64(nil, seed))
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, likelyValues), source, serializer.NewCodecFactory(runtime.NewScheme()))
	k.check(t, func(value any) { filler.Fill(value) })
	passed = true
}

// likelyValues mixes values as they are found in real objects with the arbitrary ones.
func likelyValues(serializer.CodecFactory) []any {
	oneOf := func(c randfill.Continue, values ...string) string { return values[c.Intn(len(values))] }
	return []any{
		func(ref *corev1.ObjectReference, c randfill.Continue) {
			c.FillNoCustom(ref)
			if c.Bool() {
				ref.APIVersion = oneOf(c, "", "v1", "a/b/c", "infrastructure.cluster.x-k8s.io/v1beta1", "infrastructure.cluster.x-k8s.io/v1beta2")
				ref.Kind = oneOf(c, "", "DockerMachineTemplate")
				ref.Name = oneOf(c, "", "servers")
			}
		},
		func(d *metav1.Duration, c randfill.Continue) {
			c.FillNoCustom(d)
			if c.Bool() {
				d.Duration = time.Duration(c.Intn(7)-1) * time.Second / 2
			}
		},
	}
}

// withData returns a copy of an object with the conversion annotation.
func withData[T client.Object](o T, data string) T {
	copied := o.DeepCopyObject().(T)
	annotations := copied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[conversionutil.DataAnnotation] = data
	copied.SetAnnotations(annotations)
	return copied
}

func withoutData[T client.Object](o T) T {
	annotations := o.GetAnnotations()
	delete(annotations, conversionutil.DataAnnotation)
	o.SetAnnotations(annotations)
	return o
}

func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if !same(want, got) {
		t.Fatalf("%s: -want +got\n%s", what, cmp.Diff(want, got))
	}
}
