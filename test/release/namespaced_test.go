package release

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// A manager of one namespace has rights in that one and its own only, makes a
// cluster there, and leaves one in another namespace alone.
func TestOneNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	bootstrap, controlPlane := kustomized(t, "config/namespaced/bootstrap"), kustomized(t, "config/namespaced/control-plane")
	for _, objects := range [][]*rbacv1.ClusterRoleBinding{
		all[rbacv1.ClusterRoleBinding](t, bootstrap, "ClusterRoleBinding"), all[rbacv1.ClusterRoleBinding](t, controlPlane, "ClusterRoleBinding"),
	} {
		g.Expect(objects).To(HaveLen(1))
		g.Expect(objects[0].RoleRef.Name).To(HaveSuffix("-cluster-scope"))
	}
	g.Expect(one[appsv1.Deployment](t, bootstrap, "Deployment").Spec.Template.Spec.Containers[0].Args).To(ContainElement("--namespace=$(WATCHED_NAMESPACE)"))

	p := startPlane(t)
	i := p.installRelease(t, bootstrap, controlPlane)
	elsewhere := p.newCluster(t, "elsewhere", "second", nil)
	p.newCluster(t, "default", "first", nil).started(t)

	g.Expect(elsewhere.controlPlane(t).Finalizers).To(BeEmpty(), "a control plane of another namespace was touched")
	machines, err := elsewhere.machines(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(machines).To(BeEmpty())
	for m, own := range map[*manager]string{i.bootstrap: "rke2-bootstrap-system", i.controlPlane: "rke2-control-plane-system"} {
		p.stayedWithin(t, m.account)
		g.Expect(p.touched(t, m.account)).To(ConsistOf("default", own))
		wide := slices.DeleteFunc(p.clusterWide(t, m.account), func(resource string) bool {
			return resource == "apiextensions.k8s.io/customresourcedefinitions"
		})
		g.Expect(wide).To(BeEmpty(), "asked for objects of all namespaces")
	}
}

// Objects without the label are left alone by the reconcilers; the webhooks
// look at all objects all the same.
func TestWatchFilter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := startPlane(t)
	i := p.installRelease(t, released(t, "bootstrap-components.yaml", nil), released(t, "control-plane-components.yaml", nil), "--watch-filter=mine")
	others := p.newCluster(t, "default", "theirs", map[string]string{"cluster.x-k8s.io/watch-filter": "theirs"})
	none := p.newCluster(t, "default", "nobodys", nil)
	mine := p.newCluster(t, "default", "mine", map[string]string{"cluster.x-k8s.io/watch-filter": "mine"})
	mine.started(t)

	for _, c := range []cluster{others, none} {
		controlPlane := c.controlPlane(t)
		g.Expect(controlPlane.Finalizers).To(BeEmpty(), c.name)
		g.Expect(controlPlane.Status).To(Equal(controlplanev1.RKE2ControlPlaneStatus{}), c.name)
		g.Expect(*controlPlane.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds).To(Equal(int32(120)), "defaults are for all objects")
	}
	i.refuses(t)
}
