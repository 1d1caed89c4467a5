package controlplane

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/plan"
	"github.com/drover-project/drover/internal/trace"
)

// decisions is what the running reconciler has written, of all namespaces.
var decisions = &file{}

// file is a file in memory.
type file struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *file) bytes() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.Clone(f.text.Bytes())
}

// records are those of the world's control plane, those of actions with their
// outcomes.
func (w *world) records() []trace.Record {
	w.Helper()
	var out []trace.Record
	for r := trace.NewReader(bytes.NewReader(decisions.bytes())); ; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		w.g.Expect(err).NotTo(HaveOccurred())
		switch {
		case record.ControlPlane != w.namespace+"/demo-cp":
		case record.Outcome:
			w.g.Expect(out[len(out)-1].Result.State).To(Equal(trace.Begun))
			out[len(out)-1].Result = record.Result
		default:
			out = append(out, record)
		}
	}
}

// steps are the actions of records, each with its result.
func steps(records []trace.Record) []string {
	var out []string
	for _, r := range records {
		if r.Decision.Action == nil {
			continue
		}
		step := model.KindOf(r.Decision.Action)
		if create, ok := r.Decision.Action.(model.CreateMachine); ok {
			step += " (" + string(create.Purpose) + ")"
		}
		step += " " + string(r.Result.State)
		if r.Result.Reason != "" {
			step += ": " + r.Result.Reason
		}
		out = append(out, step)
	}
	return out
}

func TestUpgradeIsTraced(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	seen.show(w.namespace, joined)
	w.controlPlane()
	w.awaitCondition(controlplanev1.ScalingUpCondition, metav1.ConditionFalse)
	w.awaitMachines(3)
	built := len(w.records())

	const next = "v1.36.3+rke2r2"
	w.update(func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Version = next })
	isNew := func(m clusterv1.Machine) string { return m.Spec.Version }
	w.g.Eventually(w.machines).WithTimeout(patience).Should(And(HaveLen(3), HaveEach(WithTransform(isNew, Equal(next)))), "conditions: %s", w.texts())
	w.awaitCondition(controlplanev1.RollingOutCondition, metav1.ConditionFalse)
	w.expectQuiet()

	all := w.records()
	upgrade := all[built:]
	w.g.Expect(steps(upgrade)).To(Equal([]string{
		"CreateMachine (replacement of an outdated server) done", "DeleteMachine done",
		"CreateMachine (replacement of an outdated server) done", "DeleteMachine done",
		"CreateMachine (replacement of an outdated server) done", "DeleteMachine done",
	}))
	last := all[len(all)-1]
	w.g.Expect(last.Decision).To(Equal(model.Decision{Rule: plan.Settled}))
	w.g.Expect(last.Result).To(Equal(trace.Result{State: trace.None}))
	for _, r := range all {
		w.g.Expect(r.UID).To(BeEquivalentTo(w.get().UID))
		w.g.Expect(r.Time).To(BeTemporally(">=", r.Snapshot.Now))
		// What is read back can be decided on again.
		w.g.Expect(plan.Decide(r.Snapshot)).To(Equal(r.Decision))
	}
	w.expectNoSecrets()

	// At rest nothing is written.
	w.expectQuiet()
	w.g.Expect(w.records()).To(HaveLen(len(all)))

	// The end of the control plane is the end of its trace, which then tells
	// how long it was at rest.
	seen.show(w.namespace, nil)
	w.g.Expect(api.Delete(w.ctx, w.get())).To(Succeed())
	ended := func() []string { return steps(w.records()[len(all):]) }
	w.g.Eventually(ended).WithTimeout(patience).Should(ContainElement("FinishDeletion done"))
	w.g.Expect(w.records()[len(all)].Unchanged).To(BeNumerically(">=", 2))
}

// expectNoSecrets looks for the content of the namespace's Secrets in the
// trace, line by line, since names and addresses stand in some of them, too.
func (w *world) expectNoSecrets() {
	w.Helper()
	text := decisions.bytes()
	list := &corev1.SecretList{}
	w.g.Expect(api.List(w.ctx, list, client.InNamespace(w.namespace))).To(Succeed())
	looked := 0
	for _, secret := range list.Items {
		for key, value := range secret.Data {
			lines := strings.Split(string(value), "\n")
			for _, line := range append(lines, base64.StdEncoding.EncodeToString(value)) {
				if len(line) < 16 || strings.HasPrefix(line, "-----") {
					continue
				}
				looked++
				w.g.Expect(bytes.Contains(text, []byte(line))).To(BeFalse(), "key %s of Secret %s", key, secret.Name)
			}
		}
	}
	w.g.Expect(looked).To(BeNumerically(">", 50))
}

func TestRefusalAndFailureAreTraced(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	var tries atomic.Int32
	seen.fail(w.namespace, func(model.Action) error {
		switch tries.Add(1) {
		case 1:
			return act.Refused{Reason: "the template has just changed"}
		case 2, 3:
			return errors.New("the cloud is full")
		default:
			return nil
		}
	})
	w.controlPlane()
	w.awaitMachines(1)
	w.g.Eventually(func() []string { return steps(w.records()) }).WithTimeout(patience).Should(Equal([]string{
		"CreateMachine (first server) refused: the template has just changed",
		"CreateMachine (first server) failed: the cloud is full",
		"CreateMachine (first server) done",
	}))
	w.g.Expect(w.records()).To(ContainElement(And(
		HaveField("Result", trace.Result{State: trace.Done}), HaveField("Unchanged", 1))), "the second failure is counted")
}

// brokenTrace fails as long as it is told to.
type brokenTrace struct {
	err   error
	calls int
}

// Write implements Trace.
func (b *brokenTrace) Write(trace.Record) error {
	b.calls++
	return b.err
}

// Begin implements Trace.
func (b *brokenTrace) Begin(trace.Record) error { return b.err }

// Forget implements Trace.
func (b *brokenTrace) Forget(string) error { return b.err }

func TestTraceThatFailsIsLoggedOnceAndStopsNothing(t *testing.T) {
	w := newWorld(t)
	w.create(w.template())
	w.controlPlane()
	w.awaitMachines(1)
	w.expectQuiet()

	broken := &brokenTrace{err: errors.New("no space left on device")}
	r := &Reconciler{
		Client: underTest.Client, Live: underTest.Live, Observer: underTest.Observer, Actor: underTest.Actor,
		Keeper: underTest.Keeper, Clusters: underTest.Clusters, Recorder: underTest.Recorder, Trace: broken,
	}
	var logged []string
	ctx := ctrl.LoggerInto(w.ctx, funcr.New(func(_, line string) {
		if strings.Contains(line, "trace of decisions") {
			logged = append(logged, line)
		}
	}, funcr.Options{}))
	request := ctrl.Request{NamespacedName: client.ObjectKey{Namespace: w.namespace, Name: "demo-cp"}}
	reconcile := func() {
		t.Helper()
		_, err := r.Reconcile(ctx, request)
		w.g.Expect(err).NotTo(HaveOccurred())
	}
	reconcile()
	reconcile()
	w.g.Expect(broken.calls).To(BeNumerically(">=", 2))
	w.g.Expect(logged).To(ConsistOf(ContainSubstring("no space left on device")))
	broken.err = nil
	reconcile()
	reconcile()
	w.g.Expect(logged).To(HaveLen(2))
	w.g.Expect(logged[1]).To(ContainSubstring("written again"))
}
