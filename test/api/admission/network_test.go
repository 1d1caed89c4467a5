package admission_test

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const cluster = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: demo
spec:
  clusterNetwork:
    pods: {cidrBlocks: [10.42.0.0/16, "fd42::/56"]}
    services: {cidrBlocks: [10.43.0.0/16]}
    serviceDomain: cluster.local
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: RKE2ControlPlane, name: demo}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabCluster, name: demo}
`

// newNetwork changes all that servers have to agree on.
const newNetwork = `{"spec":{"clusterNetwork":{"pods":{"cidrBlocks":["10.1.0.0/16"]},"services":null,"serviceDomain":"a.example"}}}`

// installPolicy hands the policy for Clusters to the API server.
func installPolicy(t *testing.T) {
	t.Helper()
	documents, err := split(filepath.Join(config, "webhook", "control-plane", "cluster_network.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatal(err)
		}
		if err := kube.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// storeCluster stores a Cluster of a kind of control plane, whose first server
// may have come up.
func storeCluster(t *testing.T, controlPlaneKind string, initialized bool) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, space(t, nil), cluster)
	set(t, object, controlPlaneKind, "spec", "controlPlaneRef", "kind")
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	set(t, object, initialized, "status", "initialization", "controlPlaneInitialized")
	if err := kube.Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestNetworkOfARunningClusterStays(t *testing.T) {
	installPolicy(t)
	running := storeCluster(t, "RKE2ControlPlane", true)
	change := func(object *unstructured.Unstructured, patch string) error {
		return kube.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
	// A new policy takes effect with a delay.
	NewWithT(t).Eventually(func() error { return change(running, newNetwork) }, time.Minute, 50*time.Millisecond).
		Should(Satisfy(apierrors.IsInvalid))

	for name, c := range map[string]struct{ patch, want string }{
		"pods": {`{"spec":{"clusterNetwork":{"pods":{"cidrBlocks":["10.1.0.0/16"]}}}}`,
			"spec.clusterNetwork.pods.cidrBlocks: all servers of a cluster have to agree on cluster-cidr, so it cannot be changed once the first has come up, new ones could not join: restore [10.42.0.0/16, fd42::/56], or create a new cluster"},
		"services": {`{"spec":{"clusterNetwork":{"services":null}}}`,
			"spec.clusterNetwork.services.cidrBlocks: all servers of a cluster have to agree on service-cidr, so it cannot be changed once the first has come up, new ones could not join: restore [10.43.0.0/16], or create a new cluster"},
		"domain": {`{"spec":{"clusterNetwork":{"serviceDomain":"a.example"}}}`,
			`spec.clusterNetwork.serviceDomain: all servers of a cluster have to agree on cluster-domain, so it cannot be changed once the first has come up, new ones could not join: restore "cluster.local", or create a new cluster`},
		"all of it": {`{"spec":{"clusterNetwork":null}}`, "spec.clusterNetwork.pods.cidrBlocks: all servers"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, change(running, c.patch), c.want) })
	}
	if err := change(running, `{"spec":{"paused":true},"metadata":{"labels":{"a":"b"}}}`); err != nil {
		t.Errorf("something else: %v", err)
	}
	for name, object := range map[string]*unstructured.Unstructured{
		"before the first server has come up": storeCluster(t, "RKE2ControlPlane", false),
		"another kind of control plane":       storeCluster(t, "KubeadmControlPlane", true),
	} {
		if err := change(object, newNetwork); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	leaving := storeCluster(t, "RKE2ControlPlane", true)
	keep := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/wait"]}}`))
	if err := kube.Patch(t.Context(), leaving, keep); err != nil {
		t.Fatal(err)
	}
	if err := kube.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	if err := change(leaving, `{"metadata":{"finalizers":null},"spec":{"clusterNetwork":null}}`); err != nil {
		t.Errorf("a cluster that is deleted: %v", err)
	}
}
