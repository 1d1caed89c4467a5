package etcd_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/drover-project/drover/internal/world/etcd"
)

func TestThreeMembers(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 3)
	access := c.access(etcd.NewPool(time.Now))
	ctx := t.Context()
	leader, follower, leaderID, followerID := c.leader(access)

	members, err := access.Members(ctx, follower.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(HaveLen(3))
	for _, m := range members {
		g.Expect(m.ID).NotTo(BeZero())
		g.Expect(m.Learner).To(BeFalse())
		g.Expect(m.PeerURLs).To(HaveLen(1))
	}

	alarms, err := access.Alarms(ctx, follower.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(alarms).To(BeEmpty())

	t.Log("the leader can't be moved by a follower, nor to a stranger")
	g.Expect(access.MoveLeader(ctx, follower.node(), followerID)).To(MatchError(etcd.ErrNotLeader))
	g.Expect(access.MoveLeader(ctx, leader.node(), 0xbad)).To(MatchError(etcd.ErrBadTransferee))

	t.Log("the leader hands over")
	g.Expect(access.MoveLeader(ctx, leader.node(), followerID)).To(Succeed())
	status, err := access.Status(ctx, follower.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status.Leader).To(Equal(followerID))

	t.Log("the former leader is removed, twice with the same result")
	removeWhenSettled(g, access, follower.node(), leaderID)
	g.Expect(access.Remove(ctx, follower.node(), leaderID)).To(Succeed())
	members, err = access.Members(ctx, follower.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(HaveLen(2))

	t.Log("connections were kept: one dial for each node")
	g.Expect(c.dialled(follower.node())).To(BeNumerically("<=", 2))
}

// removeWhenSettled removes a member as soon as etcd allows it: it wants all
// voters to have been connected for a while.
func removeWhenSettled(g Gomega, access *etcd.Cluster, node string, id uint64) {
	g.Eventually(func() error { return access.Remove(context.Background(), node, id) }, "30s", "200ms").Should(Succeed())
}

func TestLastVoterIsNotRemoved(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 1)
	access := c.access(etcd.NewPool(time.Now))
	status, err := access.Status(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.Remove(t.Context(), "n0", status.ID)).To(MatchError(etcd.ErrNotEnoughStarted))
	g.Expect(status.Leader).To(Equal(status.ID))
	g.Expect(status.Version).To(HavePrefix("3."))
}

func TestDeadMember(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 3)
	access := c.access(etcd.NewPool(time.Now))
	leader, follower, _, followerID := c.leader(access)
	c.kill(follower)

	_, err := access.Status(t.Context(), follower.node())
	g.Expect(err).To(MatchError(etcd.ErrUnreachable))
	g.Expect(err).To(MatchError(ContainSubstring("etcd on node " + follower.node())))

	t.Log("a healthy one must not go now")
	var healthy *realMember
	for _, m := range c.members {
		if m != leader && m != follower {
			healthy = m
		}
	}
	status, err := access.Status(t.Context(), healthy.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.Remove(t.Context(), leader.node(), status.ID)).To(MatchError(etcd.ErrUnhealthy))

	t.Log("the dead one may")
	removeWhenSettled(g, access, leader.node(), followerID)
}

func TestNoQuorum(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 2)
	access := c.access(etcd.NewPool(time.Now))
	leader, follower, _, followerID := c.leader(access)
	c.kill(follower)

	g.Eventually(func() (uint64, error) {
		status, err := access.Status(t.Context(), leader.node())
		return status.Leader, err
	}, "20s", "100ms").Should(BeZero(), "a member without quorum must not name a leader")

	_, err := access.Members(t.Context(), leader.node())
	g.Expect(err).To(Or(MatchError(etcd.ErrUnclear), MatchError(etcd.ErrNoLeader)))
	g.Expect(access.Remove(t.Context(), leader.node(), followerID)).To(Or(MatchError(etcd.ErrUnclear), MatchError(etcd.ErrUnhealthy), MatchError(etcd.ErrNoLeader)))
}

func TestLearner(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 1)
	access := c.access(etcd.NewPool(time.Now))
	first := c.members[0]

	learner := &realMember{name: "n1-00000001", client: freeAddress(t), peer: freeAddress(t)}
	addLearner(t, c, first, "http://"+learner.peer)
	members, err := access.Members(t.Context(), first.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(members).To(ContainElement(And(HaveField("Learner", true), HaveField("Name", ""))))

	c.members = append(c.members, learner)
	c.start(learner, c.initialCluster(), "existing")
	g.Eventually(func() (bool, error) {
		status, err := access.Status(t.Context(), learner.node())
		return status.Learner, err
	}, "20s", "100ms").Should(BeTrue())

	_, err = access.Members(t.Context(), learner.node())
	g.Expect(err).To(MatchError(etcd.ErrLearner))
	status, err := access.Status(t.Context(), learner.node())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(access.MoveLeader(t.Context(), first.node(), status.ID)).To(MatchError(etcd.ErrBadTransferee))
}

func TestSilentMemberTimesOut(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 1)
	pool := etcd.NewPool(time.Now)
	c.blackhole("n0")
	access := c.access(pool)

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := access.Status(ctx, "n0")
	g.Expect(err).To(MatchError(etcd.ErrUnclear))
	g.Expect(time.Since(begin)).To(BeNumerically("<", etcd.CallTimeout))
}

func TestForeignServerIsNotTrusted(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 1)
	other := newAuthority(t, t.TempDir())
	access, err := etcd.NewPool(time.Now).Cluster("uid-1", other, c.dial)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = access.Status(t.Context(), "n0")
	g.Expect(err).To(MatchError(ContainSubstring("certificate signed by unknown authority")))
}

func TestPoolKeepsClustersApart(t *testing.T) {
	g := NewWithT(t)
	one, two := startCluster(t, 1), startCluster(t, 1)
	pool := etcd.NewPool(time.Now)
	first, err := pool.Cluster("uid-1", one.authority, one.dial)
	g.Expect(err).NotTo(HaveOccurred())
	second, err := pool.Cluster("uid-2", two.authority, two.dial)
	g.Expect(err).NotTo(HaveOccurred())
	a, err := first.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	b, err := second.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a[0].PeerURLs).NotTo(Equal(b[0].PeerURLs))

	t.Log("a cluster rebuilt under the same UID does not get the old connection")
	rebuilt, err := pool.Cluster("uid-1", two.authority, two.dial)
	g.Expect(err).NotTo(HaveOccurred())
	d, err := rebuilt.Members(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d[0].PeerURLs).To(Equal(b[0].PeerURLs))
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	g := NewWithT(t)
	c := startCluster(t, 1)
	now := time.Now()
	pool := etcd.NewPool(func() time.Time { return now })
	before := c.dialled("n0")
	for range 3 {
		_, err := c.access(pool).Status(t.Context(), "n0")
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(c.dialled("n0")).To(Equal(before+1), "one connection serves all calls")

	now = now.Add(10 * time.Minute)
	_, err := pool.Cluster("other", c.authority, c.dial)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.access(pool).Status(t.Context(), "n0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.dialled("n0")).To(Equal(before + 2))
}

// addLearner does what a joining server does.
func addLearner(t *testing.T, c *realCluster, through *realMember, peer string) {
	t.Helper()
	conn, err := grpc.NewClient(through.client, grpc.WithTransportCredentials(credentials.NewTLS(clientTLS(t, c.authority))))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := pb.NewClusterClient(conn).MemberAdd(ctx, &pb.MemberAddRequest{PeerURLs: []string{peer}, IsLearner: true}); err != nil {
		t.Fatal(err)
	}
}
