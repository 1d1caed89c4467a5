package infra

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/balancer"
)

// The world of all tests: a real API server, and machines that are only noted down.
var (
	api        client.Client
	kubeconfig []byte
	machines   = newFakeMachines()
	provider   *Cloud
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		// `make unit` sets it; this is where it puts the binaries.
		assets, err := filepath.Abs("../../../bin/envtest")
		if err != nil {
			return fail(err)
		}
		if err := os.Setenv("KUBEBUILDER_ASSETS", assets); err != nil {
			return fail(err)
		}
	}
	environment, err := newEnvironment()
	if err != nil {
		return fail(err)
	}
	config, err := environment.Start()
	if err != nil {
		return fail(fmt.Errorf("start an API server (`make envtest` provides it): %w", err))
	}
	defer func() { _ = environment.Stop() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ctrl.SetLogger(logr.Discard())
	if api, err = client.New(config, client.Options{Scheme: Scheme()}); err != nil {
		return fail(err)
	}
	user, err := environment.AddUser(envtest.User{Name: "test", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		return fail(err)
	}
	if kubeconfig, err = user.KubeConfig(); err != nil {
		return fail(err)
	}
	provider = NewCloud(ctx, Config{
		Machines: machines, LabBinary: "/lab", KubeBinary: "/kube", Log: logr.Discard(),
		Timing: balancer.Timing{Interval: 50 * time.Millisecond, Timeout: time.Second, Fall: 2, Grace: time.Second, Dial: time.Second},
	})
	if err := provider.StartProvider(ctx, config); err != nil {
		return fail(err)
	}
	return m.Run()
}

// newEnvironment returns an API server, not yet started, with Cluster API's and the lab's kinds.
func newEnvironment() (*envtest.Environment, error) {
	core, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/cluster-api").Output()
	if err != nil {
		return nil, fmt.Errorf("find Cluster API's kinds: %w", err)
	}
	return &envtest.Environment{
		CRDDirectoryPaths:     []string{"../../api/crds", filepath.Join(strings.TrimSpace(string(core)), "core/config/crd/bases")},
		ErrorIfCRDPathMissing: true,
	}, nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// sample is a cluster with one machine, in a namespace of its own.
type sample struct {
	t          *testing.T
	cluster    *clusterv1.Cluster
	labCluster *labv1.LabCluster
}

var ports = []int32{36443, 39345}

// newSample makes a Cluster with its LabCluster, as core would leave them.
func newSample(t *testing.T) *sample {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create(t, namespace)
	s := &sample{t: t}
	meta := metav1.ObjectMeta{Namespace: namespace.Name, Name: "c"}
	s.cluster = &clusterv1.Cluster{ObjectMeta: meta, Spec: clusterv1.ClusterSpec{
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: labv1.GroupVersion.Group, Kind: "LabCluster", Name: "c"},
	}}
	create(t, s.cluster)
	s.labCluster = &labv1.LabCluster{ObjectMeta: meta, Spec: labv1.LabClusterSpec{
		LoadBalancer:   labv1.LoadBalancer{Ports: ports},
		FailureDomains: []clusterv1.FailureDomain{{Name: "z1", ControlPlane: ptr.To(true)}},
	}}
	s.labCluster.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: s.cluster.UID,
	}}
	create(t, s.labCluster)
	t.Cleanup(func() { _ = api.Delete(context.Background(), s.labCluster) })
	return s
}

// provisioned does core's part after the LabCluster is provisioned.
func (s *sample) provisioned() {
	s.t.Helper()
	s.cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := api.Status().Update(s.t.Context(), s.cluster); err != nil {
		s.t.Fatal(err)
	}
}

// addMachine makes a Machine with its LabMachine. Without data it has no bootstrap data yet.
func (s *sample) addMachine(name string, data map[string]string, hostnames ...string) (*clusterv1.Machine, *labv1.LabMachine) {
	s.t.Helper()
	meta := metav1.ObjectMeta{
		Namespace: s.cluster.Namespace, Name: name,
		Labels: map[string]string{clusterv1.ClusterNameLabel: "c", clusterv1.MachineControlPlaneLabel: ""},
	}
	machine := &clusterv1.Machine{ObjectMeta: meta, Spec: clusterv1.MachineSpec{
		ClusterName: "c", Version: "v1.36.3+rke2r1", FailureDomain: "z1",
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(name)},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: labv1.GroupVersion.Group, Kind: "LabMachine", Name: name},
	}}
	if data != nil {
		create(s.t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: name}, StringData: data})
	}
	create(s.t, machine)
	object := &labv1.LabMachine{ObjectMeta: meta, Spec: labv1.LabMachineSpec{Hostnames: hostnames}}
	object.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: name, UID: machine.UID,
	}}
	create(s.t, object)
	return machine, object
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := api.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
