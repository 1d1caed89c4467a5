package bootstrap

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
)

func TestDomainOfTheClusterCountsForOurClusters(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
	})
	w.provision()
	w.secrets()
	w.server("cp-1", nil)
	w.Expect(nodeConfig(w, w.hasData("cp-1"))).To(HaveKeyWithValue("cluster-domain", "example.internal"))
}

// staleClient is a cache that has not seen the annotations of control planes yet.
type staleClient struct{ client.Client }

func (c staleClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if controlPlane, ok := obj.(*controlplanev1.RKE2ControlPlane); ok {
		controlPlane.Annotations = nil
	}
	return err
}

func TestStaleControlPlaneChangesNoDomain(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
	})
	w.server("cp-1", nil)
	stale := &Reconciler{Client: staleClient{api}, APIReader: api}
	controlPlane, err := stale.controlPlane(w.ctx, &target{config: w.config("cp-1"), machine: w.machine("cp-1"), cluster: w.cluster()})
	w.Expect(err).NotTo(HaveOccurred())
	settings := clusterSettings(&target{cluster: w.cluster()}, controlPlane, desired.Registration{})
	w.Expect(settings.Domain).To(Equal("example.internal"))
}
