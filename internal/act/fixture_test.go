package act_test

import (
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// errCrash stands for the end of the process before a write.
var errCrash = errors.New("crash")

type fixture struct {
	*worldtest.World
	Gomega
	t      *testing.T
	actor  *act.Actor
	events *events.FakeRecorder
	// writes are the writes to the management cluster, as "verb Kind name".
	writes []string
	suffix int
}

// setUp makes a world with the given servers; with members, real etcd runs.
func setUp(t *testing.T, servers, members int) *fixture {
	t.Helper()
	f := &fixture{World: worldtest.New(t, members), Gomega: NewWithT(t), t: t, events: events.NewFakeRecorder(100)}
	for i := range servers {
		f.AddServer(i)
	}
	f.record(nil)
	f.actor = act.New(act.Options{
		Client: f.Management, Live: f.Management, Connector: f.Connector(), Recorder: f.events,
		Suffix: func() string { f.suffix++; return fmt.Sprintf("x%d", f.suffix) },
	})
	return f
}

// record notes every write from now on, and fails those that crash says.
func (f *fixture) record(crash func(n int) error) {
	f.writes = nil
	f.Calls = func(verb string, obj client.Object) error {
		if crash != nil {
			if err := crash(len(f.writes)); err != nil {
				return err
			}
		}
		f.writes = append(f.writes, verb+" "+obj.GetName())
		return nil
	}
}

func (f *fixture) observe() model.Snapshot {
	f.t.Helper()
	o := observe.New(observe.Options{Client: f.Management, Live: f.Management, Connector: f.Connector()})
	snap, err := o.Observe(f.t.Context(), f.Scope())
	f.Expect(err).NotTo(HaveOccurred())
	return snap
}

// do observes and carries out an action on what was seen.
func (f *fixture) do(a model.Action) error {
	f.t.Helper()
	return f.actor.Do(f.t.Context(), f.Scope(), f.observe(), a)
}

func (f *fixture) machine(name string) *clusterv1.Machine {
	f.t.Helper()
	m := &clusterv1.Machine{}
	f.Expect(f.Management.Get(f.t.Context(), client.ObjectKey{Namespace: worldtest.Namespace, Name: name}, m)).To(Succeed())
	return m
}

func (f *fixture) node(name string) *corev1.Node {
	f.t.Helper()
	n := &corev1.Node{}
	f.Expect(f.Workload.Get(f.t.Context(), client.ObjectKey{Name: name}, n)).To(Succeed())
	return n
}

// leave deletes a Machine and puts core at the given phase.
func (f *fixture) leave(name string, phase model.Phase) {
	f.t.Helper()
	m := f.machine(name)
	if phase != model.PhaseWaitingForPreDrain {
		delete(m.Annotations, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
		f.Expect(f.Management.Update(f.t.Context(), m)).To(Succeed())
	}
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: string(phase), LastTransitionTime: metav1.Now()}}
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
	f.Expect(f.Management.Delete(f.t.Context(), m)).To(Succeed())
	f.record(nil)
}

func (f *fixture) annotate(name, key string) {
	f.t.Helper()
	m := f.machine(name)
	before := m.DeepCopy()
	m.Annotations[key] = ""
	f.Expect(f.Management.Patch(f.t.Context(), m, client.MergeFrom(before))).To(Succeed())
	f.record(nil)
}

func beRefused(reason string) OmegaMatcher {
	return And(WithTransform(act.IsRefused, BeTrue()), MatchError(ContainSubstring(reason)))
}

func (f *fixture) lastEvent() string {
	f.t.Helper()
	last := ""
	for {
		select {
		case last = <-f.events.Events:
		default:
			return last
		}
	}
}
