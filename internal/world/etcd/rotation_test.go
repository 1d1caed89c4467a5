package etcd_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/etcd/etcdtest"
)

// A running pool follows when a member comes back with another certificate, and
// when the authority itself is another one: the next look has the new Secret.
func TestRotationWhileThePoolRuns(t *testing.T) {
	g := NewWithT(t)
	c := etcdtest.Start(t, 1)
	pool := etcd.NewPool(time.Now)
	answers := func() error {
		_, err := c.Access(pool).Members(t.Context(), "n0")
		return err
	}
	g.Expect(answers()).To(Succeed())

	t.Log("the same authority, another serving certificate")
	c.RenewServing()
	c.Restart(c.Members[0])
	g.Eventually(answers, "20s", "100ms").Should(Succeed())

	t.Log("another authority: who still has the old Secret does not get in")
	old := c.Authority
	c.RotateAuthority()
	c.Restart(c.Members[0])
	g.Eventually(answers, "20s", "100ms").Should(Succeed())
	stale, err := pool.Cluster("uid-1", old, c.Route())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = stale.Members(t.Context(), "n0")
	g.Expect(err).To(HaveOccurred())

	t.Log("and with the new Secret again, at once")
	g.Expect(answers()).To(Succeed())
}
