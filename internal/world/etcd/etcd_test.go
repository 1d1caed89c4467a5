package etcd_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/etcd/etcdtest"
)

func TestThreeMembers(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 3)
	access := c.Access(etcd.NewPool(time.Now))
	ctx := t.Context()
	leader, follower, leaderID, followerID := c.Leader(access)

	members, err := access.Members(ctx, follower.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(HaveLen(3))
	for _, m := range members {
		g.Expect(m.ID).NotTo(BeZero())
		g.Expect(m.Learner).To(BeFalse())
		g.Expect(m.PeerURLs).To(HaveLen(1))
	}

	alarms, err := access.Alarms(ctx, follower.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(alarms).To(BeEmpty())

	t.Log("the leader can't be moved by a follower, nor to a stranger")
	g.Expect(access.MoveLeader(ctx, follower.Node(), followerID)).To(MatchError(etcd.ErrNotLeader))
	g.Expect(access.MoveLeader(ctx, leader.Node(), 0xbad)).To(MatchError(etcd.ErrBadTransferee))

	t.Log("the leader hands over")
	g.Expect(access.MoveLeader(ctx, leader.Node(), followerID)).To(Succeed())
	status, err := access.Status(ctx, follower.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.Leader).To(Equal(followerID))

	t.Log("the former leader is removed, twice with the same result")
	removeWhenSettled(g, access, follower.Node(), leaderID)
	g.Expect(access.Remove(ctx, follower.Node(), leaderID)).To(Succeed())
	members, err = access.Members(ctx, follower.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(HaveLen(2))

	t.Log("connections were kept: one dial for each node")
	g.Expect(c.Dialled(follower.Node())).To(BeNumerically("<=", 2))
}

// removeWhenSettled removes a member as soon as etcd allows it: it wants all
// voters to have been connected for a while.
func removeWhenSettled(g Gomega, access *etcd.Cluster, node string, id uint64) {
	g.Eventually(func() error { return access.Remove(context.Background(), node, id) }, "30s", "200ms").Should(Succeed())
}

func TestLastVoterIsNotRemoved(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	access := c.Access(etcd.NewPool(time.Now))
	status, err := access.Status(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.Remove(t.Context(), "n0", status.ID)).To(MatchError(etcd.ErrNotEnoughStarted))
	g.Expect(status.Leader).To(Equal(status.ID))
	g.Expect(status.Version).To(HavePrefix("3."))
}

func TestDeadMember(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 3)
	access := c.Access(etcd.NewPool(time.Now))
	leader, follower, _, followerID := c.Leader(access)
	c.Kill(follower)

	_, err := access.Status(t.Context(), follower.Node())
	g.Expect(err).To(MatchError(etcd.ErrUnreachable))
	g.Expect(err).To(MatchError(ContainSubstring("etcd on node " + follower.Node())))

	t.Log("a healthy one must not go now")
	var healthy *etcdtest.Member
	for _, m := range c.Members {
		if m != leader && m != follower {
			healthy = m
		}
	}
	status, err := access.Status(t.Context(), healthy.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.Remove(t.Context(), leader.Node(), status.ID)).To(MatchError(etcd.ErrUnhealthy))

	t.Log("the dead one may")
	removeWhenSettled(g, access, leader.Node(), followerID)
}

func TestNoQuorum(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 2)
	access := c.Access(etcd.NewPool(time.Now))
	leader, follower, _, followerID := c.Leader(access)
	c.Kill(follower)

	g.Eventually(func() (uint64, error) {
		status, err := access.Status(t.Context(), leader.Node())
		return status.Leader, err
	}, "20s", "100ms").Should(BeZero(), "a member without quorum must not name a leader")

	_, err := access.Members(t.Context(), leader.Node())
	g.Expect(err).To(Or(MatchError(etcd.ErrUnclear), MatchError(etcd.ErrNoLeader)))
	g.Expect(access.Remove(t.Context(), leader.Node(), followerID)).To(Or(MatchError(etcd.ErrUnclear), MatchError(etcd.ErrUnhealthy), MatchError(etcd.ErrNoLeader)))
}

func TestLearner(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	access := c.Access(etcd.NewPool(time.Now))
	first := c.Members[0]

	learner := c.AddLearner("n1-00000001")
	g.Eventually(func() (bool, error) {
		status, err := access.Status(t.Context(), learner.Node())
		return status.Learner, err
	}, "20s", "100ms").Should(BeTrue())

	_, err := access.Members(t.Context(), learner.Node())
	g.Expect(err).To(MatchError(etcd.ErrLearner))
	status, err := access.Status(t.Context(), learner.Node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.MoveLeader(t.Context(), first.Node(), status.ID)).To(MatchError(etcd.ErrBadTransferee))
}

func TestSilentMemberTimesOut(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	pool := etcd.NewPool(time.Now)
	c.Blackhole("n0")
	access := c.Access(pool)

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := access.Status(ctx, "n0")
	g.Expect(err).To(MatchError(etcd.ErrUnclear))
	g.Expect(time.Since(begin)).To(BeNumerically("<", etcd.CallTimeout))
}

func TestSilentMemberIsGivenLessTimeAgain(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	c.Blackhole("n0")
	access := c.Access(etcd.NewPool(time.Now))
	took := func() time.Duration {
		begin := time.Now()
		_, err := access.Status(t.Context(), "n0")
		g.Expect(err).To(HaveOccurred())
		return time.Since(begin)
	}
	first := took()
	g.Expect(took()).To(BeNumerically("<", first-500*time.Millisecond))
}

func TestForeignServerIsNotTrusted(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	other := etcdtest.NewAuthority(t, t.TempDir())
	access, err := etcd.NewPool(time.Now).Cluster("uid-1", other, c.Route())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = access.Status(t.Context(), "n0")
	g.Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
}

func TestPoolKeepsClustersApart(t *testing.T) {
	g := NewWithT(t)
	one, two := etcdtest.Start(t, 1), etcdtest.Start(t, 1)
	pool := etcd.NewPool(time.Now)
	first, err := pool.Cluster("uid-1", one.Authority, one.Route())
	g.Expect(err).NotTo(HaveOccurred())
	second, err := pool.Cluster("uid-2", two.Authority, two.Route())
	g.Expect(err).NotTo(HaveOccurred())
	a, err := first.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	b, err := second.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a[0].PeerURLs).NotTo(Equal(b[0].PeerURLs))

	t.Log("a cluster rebuilt under the same UID does not get the old connection")
	rebuilt, err := pool.Cluster("uid-1", two.Authority, two.Route())
	g.Expect(err).NotTo(HaveOccurred())
	d, err := rebuilt.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d[0].PeerURLs).To(Equal(b[0].PeerURLs))
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	now := time.Now()
	pool := etcd.NewPool(func() time.Time { return now })
	before := c.Dialled("n0")
	for range 3 {
		_, err := c.Access(pool).Status(t.Context(), "n0")
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(c.Dialled("n0")).To(Equal(before+1), "one connection serves all calls")

	now = now.Add(10 * time.Minute)
	_, err := pool.Cluster("other", c.Authority, c.Route())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Access(pool).Status(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Dialled("n0")).To(Equal(before + 2))
}

func TestUnstartedLearnerHasNoName(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	c.AddSilentLearner("n1-00000001")
	members, err := c.Access(etcd.NewPool(time.Now)).Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(ConsistOf(
		And(HaveField("Learner", false), HaveField("Name", "n0-00000000")),
		And(HaveField("Learner", true), HaveField("Name", "")),
	))
}
