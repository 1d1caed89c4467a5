package act_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/onsi/gomega"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/act"
	"github.com/drover-project/drover/internal/model"
)

// roles returns a leader and two followers, each with its Machine.
func (f *fixture) roles() (leader, a, b model.Member) {
	f.t.Helper()
	var followers []model.Member
	for _, m := range f.observe().Etcd.Members.Value {
		if m.Leader {
			leader = m
		} else {
			followers = append(followers, m)
		}
	}
	f.Expect(leader.ID).NotTo(BeZero())
	for len(followers) < 2 {
		followers = append(followers, model.Member{})
	}
	return leader, followers[0], followers[1]
}

// settled repeats an action until etcd, which wants its voters connected for a
// while, lets it through.
func (f *fixture) settled(a model.Action) {
	f.t.Helper()
	f.Eventually(func() error { return f.do(a) }, "30s", "250ms").Should(Succeed())
}

func (f *fixture) ids() []uint64 {
	f.t.Helper()
	var out []uint64
	for _, m := range f.observe().Etcd.Members.Value {
		out = append(out, m.ID)
	}
	return out
}

// A server leaves a cluster of three, from the end of its drain to its
// release.
func TestLeavingAfterDrain(t *testing.T) {
	f := setUp(t, 3, 3)
	leader, follower, other := f.roles()
	victim := leader.Machine
	remove := model.RemoveMember{Member: leader.ID, Name: leader.Name, Machine: victim, Ground: model.Drained}

	f.Expect(f.do(remove)).To(beRefused("core is not waiting for the pre-terminate hook"))
	f.leave(victim, model.PhaseDraining)
	for _, action := range []model.Action{remove, model.AskForMemberRemoval{Machine: victim, Member: leader.ID}, model.ReleasePreTerminateHook{Machine: victim}} {
		f.Expect(f.do(action)).To(beRefused(`it is at "DrainingNode"`), "%T", action)
	}
	f.Expect(f.writes).To(BeEmpty())

	f.setPhase(victim, model.PhaseWaitingForPreTerm)
	foreign := clusterv1.PreTerminateDeleteHookAnnotationPrefix + "/backup"
	f.annotate(victim, foreign)
	f.Expect(f.do(remove)).To(beRefused("held by another pre-terminate hook"))
	f.unannotate(victim, foreign)

	f.annotate(victim, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	f.Expect(f.do(remove)).To(beRefused("still carries our pre-drain hook"))
	f.unannotate(victim, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)

	f.Expect(f.do(remove)).To(beRefused("has become the leader"))
	f.Expect(f.do(model.AskForMemberRemoval{Machine: victim, Member: leader.ID})).To(beRefused("has become the leader"))
	f.Expect(f.do(model.ReleasePreTerminateHook{Machine: victim})).To(beRefused("etcd still lists member"))

	f.Expect(f.do(model.MoveLeader{From: other.ID, To: follower.ID, FromName: other.Name, ToName: follower.Name})).To(beRefused("is not the leader any more"))
	f.Expect(f.do(model.MoveLeader{From: leader.ID, To: follower.ID, FromName: leader.Name, ToName: follower.Name})).To(Succeed())
	now, _, _ := f.roles()
	f.Expect(now.ID).To(Equal(follower.ID))

	f.Expect(f.do(model.AskForMemberRemoval{Machine: victim, Member: leader.ID})).To(Succeed())
	node := f.node("n" + victim[1:])
	f.Expect(node.Annotations).To(HaveKeyWithValue(controlplanev1.EtcdRemoveAnnotation, "true"))
	asked := f.observe()
	m, _ := asked.MachineByName(victim)
	f.Expect(m.Node.Value.RemovalAskedAt).To(BeTemporally("~", time.Now(), 10*time.Second))

	f.leave(other.Machine, model.PhaseWaitingForPreTerm)
	second := model.RemoveMember{Member: other.ID, Name: other.Name, Machine: other.Machine, Ground: model.Drained}
	f.Expect(f.do(second)).To(beRefused("one member is removed at a time"))
	f.Expect(f.do(model.AskForMemberRemoval{Machine: other.Machine, Member: other.ID})).To(beRefused("one member is removed at a time"))

	f.settled(remove)
	f.Expect(f.ids()).NotTo(ContainElement(leader.ID))
	f.Expect(f.do(remove)).To(Succeed(), "it can be repeated")

	f.record(nil)
	f.Expect(f.do(model.ReleasePreTerminateHook{Machine: victim})).To(Succeed())
	f.Expect(f.writes).To(Equal([]string{"patch " + victim}), "one patch, never two")
	annotations := f.machine(victim).Annotations
	f.Expect(annotations).NotTo(HaveKey(controlplanev1.PreTerminateHookCleanupAnnotation))
	f.Expect(annotations).To(And(HaveKeyWithValue(clusterv1.ExcludeNodeDrainingAnnotation, "true"), HaveKeyWithValue(clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation, "true")))
}

// With two voters the abrupt stop of one loses the other its quorum: RKE2
// must not be asked, and the removal through the other voter works.
func TestTwoToOne(t *testing.T) {
	f := setUp(t, 2, 2)
	leader, follower, _ := f.roles()
	f.leave(follower.Machine, model.PhaseWaitingForPreTerm)
	f.Expect(f.do(model.AskForMemberRemoval{Machine: follower.Machine, Member: follower.ID})).To(beRefused("must not stop before it is removed"))
	f.Expect(f.node("n" + follower.Machine[1:]).Annotations).NotTo(HaveKey(controlplanev1.EtcdRemoveAnnotation))
	f.settled(model.RemoveMember{Member: follower.ID, Name: follower.Name, Machine: follower.Machine, Ground: model.Drained})
	f.Expect(f.ids()).To(Equal([]uint64{leader.ID}))

	f.leave(leader.Machine, model.PhaseWaitingForPreTerm)
	err := f.do(model.RemoveMember{Member: leader.ID, Name: leader.Name, Machine: leader.Machine, Ground: model.Drained})
	f.Expect(act.IsRefused(err)).To(BeTrue(), "the last voter stays: %v", err)
}

// A server that was deleted while it joins may yet become the second voter.
func TestJoinerOfASingleVoter(t *testing.T) {
	f := setUp(t, 2, 1)
	f.deletedWhileItJoins(1)
	release := model.ReleasePreTerminateHook{Machine: "m1"}
	f.Expect(f.do(release)).To(beRefused("may be about to join"))
	f.actor.Now = func() time.Time { return time.Now().Add(model.JoinTime) }
	f.Expect(f.do(release)).To(Succeed())
}

// Its host may run before its infrastructure reports it.
func TestJoinerThatNobodyHasReported(t *testing.T) {
	f := setUp(t, 2, 1)
	f.deletedWhileItJoins(1)
	f.unreported("m1")
	f.Expect(f.do(model.ReleasePreTerminateHook{Machine: "m1"})).To(beRefused("may be about to join"))
}

// Nobody can tell whose member is the one of a host without known addresses.
func TestReleaseBesideAStrangeMember(t *testing.T) {
	f := setUp(t, 4, 4)
	_, follower, _ := f.roles()
	release := model.ReleasePreTerminateHook{Machine: follower.Machine}
	f.deletedWhileItJoins(int(follower.Machine[1] - '0'))
	f.unreported(follower.Machine)
	f.Expect(f.do(release)).To(beRefused("may be that of Machine " + follower.Machine))
	f.actor.Now = func() time.Time { return time.Now().Add(model.JoinTime) }
	f.Expect(f.do(release)).To(Succeed())
}

// Two voters can lose one more that joins, but not two.
func TestTwoJoinersAreNotLetGoTogether(t *testing.T) {
	f := setUp(t, 4, 2)
	f.deletedWhileItJoins(2)
	f.deletedWhileItJoins(3)
	f.Expect(f.do(model.ReleasePreTerminateHook{Machine: "m2"})).To(Succeed())
	second := model.ReleasePreTerminateHook{Machine: "m3"}
	f.Expect(f.do(second)).To(beRefused("Machine m2 was let go as well"))
	f.actor.Now = func() time.Time { return time.Now().Add(model.JoinTime) }
	f.Expect(f.do(second)).To(Succeed())
}

// deletedWhileItJoins makes a server one that has a host and no Node yet, and
// whose Machine waits for our last hook.
func (f *fixture) deletedWhileItJoins(i int) {
	m := f.machine(fmt.Sprintf("m%d", i))
	m.CreationTimestamp = metav1.Now()
	f.Expect(f.Management.Update(f.t.Context(), m)).To(Succeed())
	m.Status.NodeRef = clusterv1.MachineNodeReference{}
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
	f.Expect(f.Workload.Delete(f.t.Context(), f.node(fmt.Sprintf("n%d", i)))).To(Succeed())
	f.leave(m.Name, model.PhaseWaitingForPreTerm)
}

// unreported makes a Machine one whose infrastructure has not said anything yet.
func (f *fixture) unreported(name string) {
	m := f.machine(name)
	m.Status.Addresses, m.Status.Initialization.InfrastructureProvisioned = nil, nil
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
}

func TestDeadHost(t *testing.T) {
	f := setUp(t, 3, 3)
	leader, victim, _ := f.roles()
	remove := model.RemoveMember{Member: victim.ID, Name: victim.Name, Machine: victim.Machine, Ground: model.HostDead}
	f.Expect(f.do(remove)).To(beRefused("answers, its host is not dead"))

	f.killMember(victim)
	f.Expect(f.do(remove)).To(beRefused("exists"))
	f.Expect(f.do(model.RemoveMember{Member: leader.ID, Name: leader.Name, Machine: leader.Machine, Ground: model.HostDead})).To(beRefused("answers"))

	f.leave(victim.Machine, model.PhaseDraining)
	f.Expect(f.do(remove)).To(beRefused("is Ready"))
	f.notReady("n"+victim.Machine[1:], 10*time.Second)
	f.Expect(f.do(remove)).To(beRefused("not been Ready for less than"))
	f.notReady("n"+victim.Machine[1:], 40*time.Second)
	f.settled(remove)
	f.Expect(f.ids()).NotTo(ContainElement(victim.ID))
}

func TestDeadHostByItsInfrastructure(t *testing.T) {
	f := setUp(t, 3, 3)
	_, victim, _ := f.roles()
	f.killMember(victim)
	f.Expect(f.Management.Delete(t.Context(), f.Scope().Infrastructure[victim.Machine].Object)).To(Succeed())
	f.settled(model.RemoveMember{Member: victim.ID, Name: victim.Name, Machine: victim.Machine, Ground: model.HostDead})
}

func TestOrphan(t *testing.T) {
	f := setUp(t, 2, 3)
	var orphan model.Member
	for _, m := range f.observe().Etcd.Members.Value {
		if m.Machine == "" {
			orphan = m
		}
	}
	remove := model.RemoveMember{Member: orphan.ID, Name: orphan.Name, Ground: model.NoMachine}
	f.AddServer(2)
	f.Expect(f.do(remove)).To(beRefused(`belongs to Machine "m2"`))
	// A member that leads is no orphan, and on a busy computer any may lead.
	if leader, follower, _ := f.roles(); leader.ID == orphan.ID {
		f.settled(model.MoveLeader{From: leader.ID, To: follower.ID, FromName: leader.Name, ToName: follower.Name})
	}
	f.Expect(f.Workload.Delete(t.Context(), f.node("n2"))).To(Succeed())
	m := f.machine("m2")
	m.Finalizers = nil
	f.Expect(f.Management.Update(t.Context(), m)).To(Succeed())
	f.Expect(f.Management.Delete(t.Context(), m)).To(Succeed())
	f.settled(remove)
	f.Expect(f.ids()).To(HaveLen(2))
}

func TestNothingIsDoneOnTheUnknown(t *testing.T) {
	f := setUp(t, 1, 1)
	leader, _, _ := f.roles()
	f.leave("m0", model.PhaseWaitingForPreTerm)
	s, snap := f.Scope(), f.observe()
	f.Connected = false
	for _, action := range []model.Action{
		model.RemoveMember{Member: leader.ID, Machine: "m0", Ground: model.Drained},
		model.MoveLeader{From: leader.ID, To: leader.ID},
		model.AskForMemberRemoval{Machine: "m0", Member: leader.ID},
		model.ReleasePreTerminateHook{Machine: "m0"},
	} {
		f.Expect(f.actor.Do(t.Context(), s, snap, action)).To(beRefused("no connection"), "%T", action)
	}
	f.Expect(f.writes).To(BeEmpty())
}

func (f *fixture) setPhase(name string, phase model.Phase) {
	f.t.Helper()
	m := f.machine(name)
	m.Status.Conditions[0].Reason = string(phase)
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
}

func (f *fixture) unannotate(name, key string) {
	f.t.Helper()
	m := f.machine(name)
	before := m.DeepCopy()
	delete(m.Annotations, key)
	f.Expect(f.Management.Patch(f.t.Context(), m, client.MergeFrom(before))).To(Succeed())
	f.record(nil)
}

func (f *fixture) killMember(m model.Member) {
	f.t.Helper()
	for _, process := range f.Etcd.Members {
		if process.Name == m.Name {
			f.Etcd.Kill(process)
			return
		}
	}
	f.t.Fatalf("no member %s", m.Name)
}

func (f *fixture) notReady(node string, since time.Duration) {
	f.t.Helper()
	n := f.node(node)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(time.Now().Add(-since))}}
	f.Expect(f.Workload.Status().Update(f.t.Context(), n)).To(Succeed())
}
