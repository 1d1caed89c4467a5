package infra

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/machine"
)

// secondManagement starts another API server with a provider of the same cloud.
func secondManagement(t *testing.T) client.Client {
	t.Helper()
	environment, err := newEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = environment.Stop() })
	if err := provider.StartProvider(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	second, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return second
}

// copyTo creates the object as clusterctl does: spec and metadata without status, with new owners.
func copyTo[T client.Object](t *testing.T, to client.Client, object T, owner client.Object) T {
	t.Helper()
	moved := object.DeepCopyObject().(T)
	moved.SetResourceVersion("")
	moved.SetUID("")
	moved.SetOwnerReferences(nil)
	if owner != nil {
		kind, err := to.GroupVersionKindFor(owner)
		if err != nil {
			t.Fatal(err)
		}
		moved.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID()}})
	}
	if err := to.Create(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	return moved
}

// deleteMoved deletes the object as clusterctl does: annotated, and then without finalizers.
func deleteMoved(t *testing.T, object client.Object) {
	t.Helper()
	for _, step := range []func() error{
		func() error {
			return api.Patch(t.Context(), object, client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"annotations":{"`+clusterctlv1.DeleteForMoveAnnotation+`":""}}}`)))
		},
		func() error { return api.Delete(t.Context(), object) },
		func() error {
			return client.IgnoreNotFound(api.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`))))
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(object), object); !apierrors.IsNotFound(err) {
		t.Fatalf("%T %s is still there: %v", object, object.GetName(), err)
	}
}

func pause(t *testing.T, c client.Client, cluster *clusterv1.Cluster, value *bool) {
	t.Helper()
	before := cluster.DeepCopy()
	cluster.Spec.Paused = value
	if err := c.Patch(t.Context(), cluster, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// at returns a function that reads an object anew from a management cluster, for Eventually.
func at[T client.Object](t *testing.T, c client.Client, object T) func() (T, error) {
	return func() (T, error) { return object, c.Get(t.Context(), client.ObjectKeyFromObject(object), object) }
}

func isPaused(object conditions.Getter) bool {
	return conditions.IsTrue(object, clusterv1.PausedCondition)
}

func TestClusterIsMoved(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	owner, object := s.addMachine("moved", map[string]string{"value": "x"})
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Eventually(get(t, s.labCluster), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	g.Eventually(backends(s), patience).Should(HaveLen(len(ports)))
	before, _ := machines.Get("moved")
	endpoint := s.labCluster.Spec.ControlPlaneEndpoint

	second := secondManagement(t)
	pause(t, api, s.cluster, ptr.To(true))
	g.Eventually(get(t, object), patience).Should(WithTransform(isPaused, BeTrue()))
	g.Eventually(get(t, s.labCluster), patience).Should(WithTransform(isPaused, BeTrue()))

	g.Expect(second.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.cluster.Namespace}})).To(Succeed())
	cluster := copyTo(t, second, s.cluster, nil)
	labCluster := copyTo(t, second, s.labCluster, cluster)
	newOwner := copyTo(t, second, owner, cluster)
	arrived := copyTo(t, second, object, newOwner)
	g.Eventually(at(t, second, arrived), patience).Should(WithTransform(isPaused, BeTrue()))
	g.Expect(state(arrived)).To(BeEmpty(), "a paused object is not looked at")
	for _, old := range []client.Object{object, owner, s.labCluster, s.cluster} {
		deleteMoved(t, old)
	}
	now, found := machines.Get("moved")
	g.Expect(found).To(BeTrue())
	g.Expect(now).To(Equal(before))
	g.Expect(machines.serves(endpoint.Host)).To(BeTrue())

	pause(t, second, cluster, nil)
	g.Eventually(at(t, second, arrived), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	g.Expect(arrived.Status.Addresses[0].Address).To(Equal(before.IP.String()))
	g.Expect(state(arrived)).To(Equal(labv1.InstanceRunning))
	g.Eventually(at(t, second, labCluster), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))
	g.Expect(labCluster.Spec.ControlPlaneEndpoint).To(Equal(endpoint))
	g.Expect(backends(s)()).To(HaveLen(len(ports)))
	g.Expect(machines.bootsOf("moved")).To(Equal(1))

	machines.change("moved", func(i *machine.Info) { i.Frozen = true })
	g.Eventually(at(t, second, arrived), patience).Should(WithTransform(state, Equal(labv1.InstanceFrozen)), "it follows its machine")
	g.Expect(second.Delete(t.Context(), arrived)).To(Succeed())
	g.Eventually(func() bool { _, found := machines.Get("moved"); return found }, patience).Should(BeFalse())
	g.Expect(second.Delete(t.Context(), labCluster)).To(Succeed())
	g.Eventually(func() bool { return machines.serves(endpoint.Host) }, patience).Should(BeFalse())
}

func TestAnotherManagementClustersNamesakeIsNotTakenOver(t *testing.T) {
	g := NewWithT(t)
	s := newSample(t)
	s.provisioned()
	_, object := s.addMachine("namesake", map[string]string{"value": "x"})
	g.Eventually(get(t, object), patience).Should(WithTransform(state, Equal(labv1.InstanceRunning)))
	g.Eventually(get(t, s.labCluster), patience).Should(HaveField("Status.Initialization.Provisioned", HaveValue(BeTrue())))

	second := secondManagement(t)
	g.Expect(second.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.cluster.Namespace}})).To(Succeed())
	cluster := copyTo(t, second, s.cluster, nil)
	labCluster := &labv1.LabCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: s.labCluster.Name}}
	labCluster = copyTo(t, second, labCluster, cluster)
	g.Eventually(at(t, second, labCluster), patience).Should(WithTransform(func(o *labv1.LabCluster) string {
		if c := conditions.Get(o, clusterv1.ReadyCondition); c != nil {
			return c.Message
		}
		return ""
	}, ContainSubstring("names of LabClusters are unique in a lab")))
	g.Expect(second.Delete(t.Context(), labCluster)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(second.Get(t.Context(), client.ObjectKeyFromObject(labCluster), labCluster))
	}, patience).Should(BeTrue())
	g.Expect(machines.serves(s.labCluster.Spec.ControlPlaneEndpoint.Host)).To(BeTrue())
}

// What clusterctl deletes may be seen when its owners, and with them the pause, are no longer seen.
func TestOnlyDeletionWithoutMoveEndsAMachine(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		lives       bool
	}{
		"moved away": {map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}, true},
		"paused":     {map[string]string{clusterv1.PausedAnnotation: ""}, true},
		"deleted":    {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			object := &labv1.LabMachine{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "m", UID: "new", Annotations: test.annotations, Finalizers: []string{labv1.MachineFinalizer},
				DeletionTimestamp: ptr.To(metav1.Now()), Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
			}, Spec: labv1.LabMachineSpec{ProviderID: "lab://c/m"}}
			r := &machineReconciler{
				client:   fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(object).WithStatusSubresource(object).Build(),
				machines: newFakeMachines(), registry: newRegistry(),
			}
			_, err := r.machines.Boot(t.Context(), machine.Spec{Name: "m", ProviderID: "lab://c/m"})
			g.Expect(err).NotTo(HaveOccurred())
			key := client.ObjectKeyFromObject(object)
			g.Expect(r.registry.claim("m", owner{uid: "old", key: key})).To(BeTrue())
			for range 3 {
				_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
				g.Expect(err).NotTo(HaveOccurred())
			}
			_, found := r.machines.Get("m")
			g.Expect(found).To(Equal(test.lives))
		})
	}
}
