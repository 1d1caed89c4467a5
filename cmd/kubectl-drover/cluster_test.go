package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/explain"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// command runs the program as from a shell.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c := root()
	var out bytes.Buffer
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// TestCluster looks at one control plane in a real API server as it goes
// through a rollout, with all rights and with few.
func TestCluster(t *testing.T) {
	w := newWorld(t)
	t.Run("with all rights", w.withAllRights)
	t.Run("members", w.members)
	t.Run("plan", w.plan)
	t.Run("with few rights", w.withFewRights)
	t.Run("with no rights", w.withNoRights)
	t.Run("paused", w.paused)
	t.Run("draining", w.draining)
	t.Run("watch", w.watch)
	t.Run("host is not destroyed", w.hostRemains)
}

func (w *world) withAllRights(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	err := (&explaining{}).once(t.Context(), w.session(), &out)
	g.Expect(err).To(MatchError(errInProgress))
	g.Expect(out.String()).To(And(
		ContainSubstring("Cluster demo/c, control plane cp, v1.36.3+rke2r1: rolling out, in progress"),
		ContainSubstring("server 1 of 3 is being replaced"),
		ContainSubstring("3 voters, 3 healthy, 1 may fail"),
		ContainSubstring("create a Machine (replacement of an outdated server) [rule outdated_server_is_replaced]"),
		Not(ContainSubstring("Forbidden")), Not(ContainSubstring("in part")),
	))
}

func (w *world) members(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect((&listing{}).run(t.Context(), w.session(), &out)).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring("etcd of demo/c: 3 voters, 3 healthy, 1 may fail"), ContainSubstring("leader")))
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:4] {
		g.Expect(line).To(MatchRegexp(`^[0-9a-f]+ +n\d-\S+ +m\d +n\d +voter .* http\S+ +healthy$`))
	}
	out.Reset()
	g.Expect((&listing{output: output{format: "json"}}).run(t.Context(), w.session(), &out)).To(Succeed())
	var got explain.Members
	g.Expect(json.Unmarshal(out.Bytes(), &got)).To(Succeed())
	g.Expect(got.Has).To(BeTrue())
	g.Expect(got.List).To(HaveLen(3))
	g.Expect(got.List[0].PeerURLs).NotTo(BeEmpty())
}

func (w *world) plan(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	g.Expect((&planning{}).run(t.Context(), w.session(), nil, &out)).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("Machine new-1\n   1. Drover         create a Machine (replacement of an outdated server): new-1 [outdated_server_is_replaced]\n"),
		ContainSubstring("delete Machine m0 (it is outdated: version v1.36.2+rke2r1, wanted v1.36.3+rke2r1) [surplus_server_is_deleted]"),
		ContainSubstring("In the end everything is as wished.\nServers replaced 3, created 3, deleted 3;"),
	))

	out.Reset()
	g.Expect((&planning{version: "v1.36.4+rke2r1", output: output{format: "json"}}).run(t.Context(), w.session(), ptr.To[int32](5), &out)).To(Succeed())
	var got outlook
	g.Expect(json.Unmarshal(out.Bytes(), &got)).To(Succeed())
	g.Expect(got.Changes).To(ConsistOf("spec.version: v1.36.3+rke2r1 -> v1.36.4+rke2r1", "spec.replicas: 3 -> 5"))
	g.Expect(got.Totals.Created).To(Equal(5))
	g.Expect(got.Settled).To(BeTrue())

	for version, why := range map[string]string{
		"v1.38.0+rke2r1": "cannot go from v1.36.2+rke2r1 to v1.38.0+rke2r1 at once", "v1.35.1+rke2r1": "cannot go back from", "v1.36": "not an RKE2 release",
	} {
		out.Reset()
		err := (&planning{version: version}).run(t.Context(), w.session(), nil, &out)
		g.Expect(err).To(MatchError(errHeldUp), version)
		g.Expect(out.String()).To(And(ContainSubstring("REFUSED: spec.version"), Not(ContainSubstring("new-1"))), version)
		if !strings.HasPrefix(version, "v1.38") {
			g.Expect(out.String()).To(ContainSubstring(why), version)
		}
	}
	out.Reset()
	g.Expect((&planning{}).run(t.Context(), w.session(), ptr.To[int32](0), &out)).To(MatchError(errHeldUp))

	// Nothing of it was made.
	stored := &controlplanev1.RKE2ControlPlane{}
	g.Expect(w.api.Get(t.Context(), client.ObjectKeyFromObject(w.cp), stored)).To(Succeed())
	g.Expect(stored.ResourceVersion).To(Equal(w.cp.ResourceVersion))
}

// reading are the rights without which nothing can be said.
var reading = []rbacv1.PolicyRule{
	{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"clusters"}, Verbs: []string{"get"}},
	{APIGroups: []string{"cluster.x-k8s.io"}, Resources: []string{"machines"}, Verbs: []string{"list"}},
	{APIGroups: []string{"controlplane.cluster.x-k8s.io"}, Resources: []string{"rke2controlplanes"}, Verbs: []string{"get"}},
}

// What may not be read is named, and the rest is told as the manager reports it.
func (w *world) withFewRights(t *testing.T) {
	g := NewWithT(t)
	w.say(
		metav1.Condition{Type: controlplanev1.CertificatesAvailableCondition, Status: metav1.ConditionTrue, Reason: "Available"},
		metav1.Condition{
			Type: controlplanev1.RollingOutCondition, Status: metav1.ConditionTrue, Reason: "RollingOut",
			Message: "Rolling out 3 of 4 Machines that are not up to date:\n* version v1.36.2+rke2r1, wanted v1.36.3+rke2r1 (m0, m1, m2)\nHeld up:\n" +
				"* Machine m3 is joining and waits for its Node to register [rule one_server_joins_at_a_time; held up by Machine m3: it ends when the Machine's etcd member is a voter]",
		},
	)
	kubeconfig := w.operator("few", reading...)
	out, err := command(t, "explain", "c", "-n", worldtest.Namespace, "--kubeconfig", kubeconfig)
	g.Expect(err).To(MatchError(errInProgress))
	g.Expect(out).To(And(
		ContainSubstring("seen from here in part only: etcd can't be asked"),
		ContainSubstring("Machine m3 is joining and waits for its Node to register [rule one_server_joins_at_a_time]"),
		ContainSubstring("Forbidden   get secrets in namespace demo of the management cluster"),
		ContainSubstring(`{apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: ["c-ca", `),
		ContainSubstring(`"c-kubeconfig"`),
		ContainSubstring(`{apiGroups: ["infrastructure.cluster.x-k8s.io"], resources: ["labmachines"], verbs: ["get"]`),
		ContainSubstring(`{apiGroups: ["bootstrap.cluster.x-k8s.io"], resources: ["rke2configs"], verbs: ["get"]`),
	))
	for _, sub := range []string{"plan", "members"} {
		out, err := command(t, sub, "c", "-n", worldtest.Namespace, "--kubeconfig", kubeconfig)
		text := out
		if err != nil {
			text += err.Error()
		}
		g.Expect(text).To(And(ContainSubstring(`resources: ["secrets"]`), ContainSubstring("c-kubeconfig")), sub)
	}
	_, err = command(t, "plan", "c", "-n", worldtest.Namespace, "--kubeconfig", kubeconfig)
	g.Expect(code(err)).To(Equal(exitFailure))
	_, err = command(t, "members", "c", "-n", worldtest.Namespace, "--kubeconfig", kubeconfig)
	g.Expect(code(err)).To(Equal(exitHeldUp))
}

func (w *world) withNoRights(t *testing.T) {
	g := NewWithT(t)
	_, err := command(t, "explain", "c", "-n", worldtest.Namespace, "--kubeconfig", w.operator("none"))
	g.Expect(code(err)).To(Equal(exitFailure))
	g.Expect(err).To(MatchError(ContainSubstring(
		`not permitted: get clusters in namespace demo of the management cluster; an RBAC rule that is enough: {apiGroups: ["cluster.x-k8s.io"], resources: ["clusters"], verbs: ["get"], resourceNames: ["c"]}`)))
}

func (w *world) paused(t *testing.T) {
	g := NewWithT(t)
	w.set(t, func() { w.cluster.Spec.Paused = ptr.To(true) })
	result, err := w.session().explain(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.State).To(Equal(explain.Paused))
	g.Expect(result.Paused).To(ConsistOf("Cluster demo/c has spec.paused: true"))
	w.set(t, func() { w.cluster.Spec.Paused = nil })
}

// set changes the Cluster.
func (w *world) set(t *testing.T, change func()) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.api.Get(t.Context(), client.ObjectKeyFromObject(w.cluster), w.cluster)).To(Succeed())
	before := w.cluster.DeepCopy()
	change()
	g.Expect(w.api.Patch(t.Context(), w.cluster, client.MergeFrom(before))).To(Succeed())
}

// Who holds up a drain is found in the workload cluster itself.
func (w *world) draining(t *testing.T) {
	g := NewWithT(t)
	w.drain(w.servers[0])
	var out bytes.Buffer
	err := (&explaining{}).once(t.Context(), w.session(), &out)
	g.Expect(err).To(MatchError(errHeldUp))
	g.Expect(out.String()).To(And(
		ContainSubstring("Machine m0, step 4 of 9"),
		ContainSubstring("core: DrainingNode"), ContainSubstring("Drain not completed yet"),
		ContainSubstring("blocked by! Pod default/cart-0: PodDisruptionBudget cart allows 0 disruptions: 1 pods are healthy, 1 have to be"),
		Not(ContainSubstring("etcd-n0")), Not(ContainSubstring("Forbidden")),
	))
	g.Expect(strings.Count(out.String(), "\n")).To(BeNumerically("<=", 24))
}

// A watch prints what has changed, and ends with the outcome of the last look.
func (w *world) watch(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &printed{}
	ended := make(chan error, 1)
	go func() { ended <- (&explaining{}).follow(ctx, w.session(), out) }()
	g.Eventually(out.String).WithTimeout(time.Minute).Should(ContainSubstring("held up"))
	w.set(t, func() { w.cluster.Spec.Paused = ptr.To(true) })
	g.Eventually(out.String).WithTimeout(time.Minute).Should(ContainSubstring("has spec.paused: true"))
	w.set(t, func() { w.cluster.Spec.Paused = nil })
	g.Eventually(func() int { return strings.Count(out.String(), "Cluster demo/c, control plane") }).WithTimeout(time.Minute).Should(Equal(3))
	cancel()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(MatchError(errHeldUp)))
}

func (w *world) hostRemains(t *testing.T) {
	g := NewWithT(t)
	w.release(w.servers[0])
	result, err := w.session().explain(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.Leaving.Step).To(Equal(explain.Destruction))
	g.Expect(result.Obstacles).To(ContainElement(And(HaveField("Kind", "LabMachine"), HaveField("Why", "finalizer lab.example.com/host"))))
}

// Times of a look are no news, and stay in what is printed.
func TestEssence(t *testing.T) {
	at := time.Now()
	e := func(blocker model.Blocker, lag uint64, now time.Time) explain.Explanation {
		return explain.Explanation{Now: now, Troubled: []explain.Row{{Lag: lag}}, Waits: []explain.Wait{{Wait: model.Wait{Blockers: []model.Blocker{blocker}}}}}
	}
	first := e(model.Blocker{Kind: "etcd member", Since: at}, 1, at)
	same := essence(first) == essence(e(model.Blocker{Kind: "etcd member", Since: at.Add(time.Second)}, 2, at.Add(time.Second)))
	if !same || first.Waits[0].Blockers[0].Since != at || first.Troubled[0].Lag != 1 {
		t.Errorf("same %v, %+v", same, first)
	}
	if essence(e(model.Blocker{Kind: "Machine", Since: at}, 1, at)) == essence(e(model.Blocker{Kind: "Machine", Since: at.Add(time.Second)}, 1, at)) {
		t.Error("a new phase of a Machine is news")
	}
}

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{
		0: nil, exitFailure: errors.New("no connection"), exitViolation: errViolation,
		exitInProgress: outcome(explain.InProgress), exitHeldUp: outcome(explain.HeldUp),
	} {
		if got := code(err); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
	if outcome(explain.Settled) != nil || code(outcome(explain.Paused)) != exitHeldUp {
		t.Error("settled is 0, paused is 4")
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"explain"}, {"plan", "c", "-o", "yaml"}, {"members", "c", "--kubeconfig", "/no/such/file"}} {
		if _, err := command(t, args...); code(err) != exitFailure {
			t.Errorf("%v: %v", args, err)
		}
	}
}
