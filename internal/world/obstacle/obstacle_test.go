package obstacle

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }

// only is the connection to the one workload cluster there is.
type only struct{ client.Client }

func (o only) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return o.Client, nil
}

func (only) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	return &rest.Config{}, nil
}

func finder(t *testing.T, management []client.Object, objs ...client.Object) Finder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).Build()
	w, err := workload.New(only{c}).Connect(t.Context(), client.ObjectKey{Namespace: "demo", Name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return Finder{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(management...).Build(), Workload: w}
}

func pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "n1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	change(p)
	return p
}

func budget(name, app string, change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status: policyv1.PodDisruptionBudgetStatus{
			CurrentHealthy: 1, DesiredHealthy: 1,
			Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, LastTransitionTime: at(time.Hour)}},
		},
	}
	change(b)
	return b
}

func leaving(phase model.Phase) (*scope.Scope, model.Snapshot) {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "demo", Name: "m1", Labels: map[string]string{"tier": "control"}, DeletionTimestamp: ptr.To(at(time.Hour)),
		Finalizers: []string{clusterv1.MachineFinalizer, "example.com/audit"},
	}}
	s := &scope.Scope{Cluster: &clusterv1.Cluster{}, Machines: collections.FromMachines(machine), Infrastructure: map[string]scope.External{}}
	return s, model.Snapshot{Now: now, Machines: []model.Machine{{Name: "m1", NodeName: "n1", Deleting: true, Phase: phase}, {Name: "m2", NodeName: "n1"}}}
}

func found(t *testing.T, f Finder, s *scope.Scope, snap model.Snapshot) []model.Obstacle {
	t.Helper()
	out, errs := f.Find(t.Context(), s, snap)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return out
}

// Each pod that core waits for is named with what keeps it, and no other.
func TestPodsThatAreLeft(t *testing.T) {
	same := func(*corev1.Pod) {}
	none := func(*policyv1.PodDisruptionBudget) {}
	f := finder(t, []client.Object{
		&clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "skip"},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain:    clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorSkip},
				Machines: []clusterv1.MachineDrainRuleMachineSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "control"}}}},
				Pods: []clusterv1.MachineDrainRulePodSelector{{
					Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "skipped-by-rule"}}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
				}},
			},
		},
		&clusterv1.MachineDrainRule{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "other-machines"},
			Spec: clusterv1.MachineDrainRuleSpec{
				Drain:    clusterv1.MachineDrainRuleDrainConfig{Behavior: clusterv1.MachineDrainRuleDrainBehaviorSkip},
				Machines: []clusterv1.MachineDrainRuleMachineSelector{{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "worker"}}}},
			},
		},
	},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "a"}}},
		pod("budgeted", same), budget("b1", "budgeted", none),
		pod("free", same), budget("b2", "free", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }),
		pod("twice", same), budget("b3", "twice", none), budget("b4", "twice", none),
		pod("broken", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		budget("b5", "broken", func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy = 0 }),
		pod("broken-and-let-go", func(p *corev1.Pod) { p.Status.Conditions = nil }),
		budget("b6", "broken-and-let-go", func(b *policyv1.PodDisruptionBudget) {
			b.Status.CurrentHealthy, b.Spec.UnhealthyPodEvictionPolicy = 0, ptr.To(policyv1.AlwaysAllow)
		}),
		pod("finalizer", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers, p.DeletionGracePeriodSeconds = ptr.To(at(time.Minute)), []string{"example.com/hold"}, ptr.To[int64](30)
		}),
		pod("completes", func(p *corev1.Pod) { p.Labels[clusterv1.PodDrainLabel] = "wait-completed" }),
		pod("skipped", func(p *corev1.Pod) { p.Labels[clusterv1.PodDrainLabel] = "skip" }),
		pod("skipped-by-rule", same),
		pod("daemon", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d", Controller: ptr.To(true)}}
		}),
		pod("static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "n2" }),
	)
	s, snap := leaving(model.PhaseDraining)
	want := []string{
		"! shop/broken: PodDisruptionBudget b5 allows 0 disruptions: 0 pods are healthy, 1 have to be",
		"! shop/budgeted: PodDisruptionBudget b1 allows 0 disruptions: 1 pods are healthy, 1 have to be",
		"! shop/finalizer: is deleted and held by finalizer example.com/hold",
		"! shop/twice: more than one PodDisruptionBudget covers it, and Kubernetes then evicts nothing: b3, b4",
		"  shop/broken-and-let-go: is about to be evicted",
		"  shop/completes: is to complete by itself (cluster.x-k8s.io/drain: wait-completed, or a MachineDrainRule)",
		"  shop/free: is about to be evicted",
	}
	var got []string
	for _, o := range found(t, f, s, snap) {
		mark := " "
		if o.Stuck {
			mark = "!"
		}
		got = append(got, mark+" "+o.Name+": "+o.Why)
		if o.Machine != "m1" || o.Kind != "Pod" || o.Unblock == "" {
			t.Errorf("%+v", o)
		}
		if o.Name == "shop/budgeted" && !o.Since.Equal(now.Add(-time.Hour)) {
			t.Errorf("since %s", o.Since)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPodThatEnds(t *testing.T) {
	ends := func(ago, grace time.Duration) model.Obstacle {
		return ending(pod("p", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = ptr.To(metav1.NewTime(now.Add(grace-ago))), ptr.To(int64(grace/time.Second))
		}), now)
	}
	if o := ends(time.Minute, 10*time.Minute); o.Stuck || !strings.Contains(o.Why, "10m0s") || !o.Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("%+v", o)
	}
	if o := ends(5*time.Minute, time.Minute); !o.Stuck || !strings.Contains(o.Why, "kubelet") {
		t.Errorf("%+v", o)
	}
}

func TestVolumesThatAreLeft(t *testing.T) {
	attachment := func(name, node string, attached bool) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: "csi.example.com", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To("pv-" + name)}},
			Status:     storagev1.VolumeAttachmentStatus{Attached: attached},
		}
	}
	stuck := attachment("stuck", "n1", true)
	stuck.Status.DetachError = &storagev1.VolumeError{Time: at(time.Minute), Message: "no answer"}
	f := finder(t, nil, attachment("a", "n1", true), attachment("b", "n1", false), attachment("c", "n2", true), stuck,
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-a"}, Spec: corev1.PersistentVolumeSpec{ClaimRef: &corev1.ObjectReference{Namespace: "shop", Name: "data"}}})
	s, snap := leaving(model.PhaseWaitingForVolumes)
	got := found(t, f, s, snap)
	if len(got) != 2 || got[0].Why != "PersistentVolume pv-a is still attached by csi.example.com, for claim shop/data" || got[0].Stuck {
		t.Errorf("%+v", got)
	}
	if len(got) == 2 && (!got[1].Stuck || !strings.HasSuffix(got[1].Why, ": no answer")) {
		t.Errorf("%+v", got[1])
	}
}

func TestRemains(t *testing.T) {
	host := &unstructured.Unstructured{Object: map[string]any{"kind": "LabMachine", "status": map[string]any{"conditions": []any{
		map[string]any{"type": "Ready", "status": "False", "reason": "PowerOff", "message": "BMC is silent", "lastTransitionTime": "2026-01-02T03:00:00Z"},
		map[string]any{"type": "Deleting", "status": "True", "reason": "Deleting"},
		map[string]any{"type": "Paused", "status": "False"},
	}}}}
	host.SetNamespace("demo")
	host.SetName("m1")
	host.SetFinalizers([]string{"lab/host"})
	s, snap := leaving(model.PhaseDeletingInfra)
	s.Infrastructure["m1"] = scope.External{Object: host}
	if got := found(t, Finder{}, s, snap); len(got) != 2 || got[0].Why != "it is not deleted yet" || got[1].Why != "finalizer example.com/audit" {
		t.Errorf("%+v", got)
	}
	for _, ago := range []time.Duration{time.Minute, time.Hour} {
		host.SetDeletionTimestamp(ptr.To(at(ago)))
		got := found(t, Finder{}, s, snap)
		if len(got) != 4 || got[0].Why != "finalizer lab/host" || got[0].Stuck != (ago > Patience) || got[0].Name != "demo/m1" {
			t.Fatalf("%+v", got)
		}
		if got[1].Why != "condition Ready is False: PowerOff: BMC is silent" || got[1].Since.IsZero() || got[2].Why != "condition Deleting is True: Deleting" {
			t.Errorf("%+v", got)
		}
	}
}
