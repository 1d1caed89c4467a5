// Package worldtest builds a small world for tests: a management cluster and
// a workload cluster held in memory, with real etcd members where asked for.
package worldtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/etcd/etcdtest"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/workload"
)

// World is one control plane with its surroundings.
type World struct {
	ControlPlane *controlplanev1.RKE2ControlPlane
	Cluster      *clusterv1.Cluster
	// Management and Workload hold the objects of the two clusters.
	Management client.WithWatch
	Workload   client.WithWatch
	// Etcd are real members, nil if none were asked for.
	Etcd *etcdtest.Cluster
	// Calls is asked before each write to the management cluster; an error
	// fails the write.
	Calls func(verb string, obj client.Object) error
	// After is told of each write to either cluster after it was made; an error
	// is what the writer gets all the same.
	After func(verb string, obj client.Object) error
	// Connected is false while the workload cluster can't be reached.
	Connected bool

	t    *testing.T
	pool *etcd.Pool
}

// New returns a World with a Cluster "c", a control plane "cp" of three
// replicas, its template, and no Machines. With members, etcd runs on nodes
// n0, n1 and so on.
func New(t *testing.T, members int) *World {
	t.Helper()
	w := &World{t: t, Calls: allow, After: allow, Connected: true, pool: etcd.NewPool(time.Now)}
	w.Cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "c", UID: "cluster-uid"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.100", Port: 6443}},
		Status: clusterv1.ClusterStatus{
			Initialization: clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true)},
			FailureDomains: []clusterv1.FailureDomain{{Name: "b", ControlPlane: ptr.To(true)}, {Name: "a", ControlPlane: ptr.To(true)}, {Name: "w", ControlPlane: ptr.To(false)}},
		},
	}
	w.ControlPlane = &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: "cp", UID: "cp-uid", Generation: 1,
			Finalizers:      []string{controlplanev1.RKE2ControlPlaneFinalizer, controlplanev1.RKE2ControlPlaneLegacyFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: "cluster-uid"}},
		},
		Spec: controlplanev1.RKE2ControlPlaneSpec{Version: Version, Replicas: ptr.To[int32](3)},
		// Somebody looked at it before: it was not moved here.
		Status: controlplanev1.RKE2ControlPlaneStatus{ObservedGeneration: 1},
	}
	w.ControlPlane.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: InfraGroup, Kind: "LabMachineTemplate", Name: "t"}
	w.Management = w.fakeManagement()
	w.Workload = fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			return w.After("patch", obj)
		},
	}).Build()
	if members > 0 {
		w.Etcd = etcdtest.Start(t, members)
	}
	w.secrets()
	return w
}

func allow(string, client.Object) error { return nil }

func (w *World) fakeManagement() client.WithWatch {
	objs := []client.Object{w.Cluster.DeepCopy(), w.ControlPlane.DeepCopy(), Template("t")}
	for _, kind := range []string{"LabMachine", "LabMachineTemplate"} {
		objs = append(objs, definition(kind))
	}
	return fake.NewClientBuilder().WithScheme(scheme(w.t)).WithObjects(objs...).
		WithStatusSubresource(&clusterv1.Machine{}, &controlplanev1.RKE2ControlPlane{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
				if err := w.Calls("create", obj); err != nil {
					return err
				}
				if err := c.Create(ctx, obj, opts...); err != nil {
					return err
				}
				return w.After("create", obj)
			},
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				if err := w.Calls("delete", obj); err != nil {
					return err
				}
				if err := c.Delete(ctx, obj, opts...); err != nil {
					return err
				}
				return w.After("delete", obj)
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if err := w.Calls("patch", obj); err != nil {
					return err
				}
				if err := c.Patch(ctx, obj, patch, opts...); err != nil {
					return err
				}
				return w.After("patch", obj)
			},
			Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
				u := &unstructured.Unstructured{}
				if named, ok := obj.(interface{ GetName() string }); ok {
					u.SetName(named.GetName())
				}
				if err := w.Calls("apply", u); err != nil {
					return err
				}
				if err := c.Apply(ctx, obj, opts...); err != nil {
					return err
				}
				return w.After("apply", u)
			},
		}).Build()
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, coordinationv1.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, apiextensionsv1.AddToScheme,
	} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// secrets puts in place what a server can't be made without. The etcd
// authority is that of the real members.
func (w *World) secrets() {
	w.t.Helper()
	other := etcdtest.NewAuthority(w.t, w.t.TempDir())
	for _, purpose := range secrets.Purposes(false) {
		a := other
		if purpose == secrets.EtcdCA && w.Etcd != nil {
			a = w.Etcd.Authority
		}
		w.AddSecret(secrets.CAName("c", purpose), map[string][]byte{secrets.CertKey: a.Certificate, secrets.PrivateKeyKey: a.Key})
	}
	w.AddSecret(secrets.Names("c").Token, map[string][]byte{secrets.ValueKey: []byte("token")})
	w.AddSecret(secrets.Names("c").AgentToken, map[string][]byte{secrets.ValueKey: []byte("agent token")})
	w.AddSecret(secrets.Names("c").Kubeconfig, map[string][]byte{secrets.ValueKey: []byte("kubeconfig")})
}

// AddSecret adds a Secret of the cluster.
func (w *World) AddSecret(name string, data map[string][]byte) {
	w.t.Helper()
	w.Create(w.Management, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}},
		Data:       data,
	})
}

// Create adds an object or ends the test.
func (w *World) Create(c client.Client, obj client.Object) {
	w.t.Helper()
	if err := c.Create(w.t.Context(), obj); err != nil {
		w.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
	}
}

// AddServer adds a whole server: infrastructure machine, RKE2Config, Machine,
// Node and static pods. Its name is m<i>, its Node n<i>, its member that of
// the real etcd with the same number.
func (w *World) AddServer(i int) *clusterv1.Machine {
	w.t.Helper()
	name, node := fmt.Sprintf("m%d", i), fmt.Sprintf("n%d", i)
	server, err := desired.NewServer(w.ControlPlane, w.Cluster, Template("t"), name, "a")
	if err != nil {
		w.t.Fatal(err)
	}
	w.Create(w.Management, server.Infrastructure)
	w.Create(w.Management, server.Config)
	m := server.Machine
	m.Finalizers = []string{clusterv1.MachineFinalizer}
	m.UID = types.UID("uid-" + name)
	w.Create(w.Management, m)
	m.Status.NodeRef.Name = node
	m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: fmt.Sprintf("10.0.0.%d", i+1)}}
	if err := w.Management.Status().Update(w.t.Context(), m); err != nil {
		w.t.Fatal(err)
	}
	w.Create(w.Workload, Node(node))
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		w.Create(w.Workload, Pod(component, node))
	}
	return m
}

// Connector reaches the World's workload cluster.
func (w *World) Connector() *connect.Connector {
	c := &connect.Connector{Secrets: w.Management, Clusters: workload.New(connections{w}), Members: w.pool}
	if w.Etcd != nil {
		c.Routes = []etcd.Route{w.Etcd.Route()}
	}
	return c
}

// Scope loads the scope of the control plane as it is now.
func (w *World) Scope() *scope.Scope {
	w.t.Helper()
	cp := &controlplanev1.RKE2ControlPlane{}
	if err := w.Management.Get(w.t.Context(), client.ObjectKeyFromObject(w.ControlPlane), cp); err != nil {
		w.t.Fatal(err)
	}
	s, err := scope.Load(w.t.Context(), w.Management, w.Management, cp)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// connections stands in for Cluster API's ClusterCache.
type connections struct{ w *World }

// GetUncachedClient implements workload.Connections.
func (c connections) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	if !c.w.Connected {
		return nil, fmt.Errorf("connection to the workload cluster is down")
	}
	return c.w.Workload, nil
}

// GetRESTConfig implements workload.Connections.
func (c connections) GetRESTConfig(context.Context, client.ObjectKey) (*rest.Config, error) {
	return &rest.Config{}, nil
}

// Connections stands in for Cluster API's ClusterCache.
func (w *World) Connections() workload.Connections { return connections{w} }

// Pool keeps the connections to the real members.
func (w *World) Pool() *etcd.Pool { return w.pool }
