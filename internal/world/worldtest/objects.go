package worldtest

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/workload"
)

const (
	// Namespace is where everything of the management cluster is.
	Namespace = "demo"
	// InfraGroup is the group of the infrastructure kinds.
	InfraGroup = "infrastructure.cluster.x-k8s.io"
	// InfraAPIVersion is the version they are served in.
	InfraAPIVersion = InfraGroup + "/v1beta2"
	// Version is the release of the servers.
	Version = "v1.36.3+rke2r1"
)

// definition is the CRD of an infrastructure kind, as far as references are
// resolved by it.
func definition(kind string) client.Object {
	d := &apiextensionsv1.CustomResourceDefinition{}
	d.Name = map[string]string{"LabMachine": "labmachines.", "LabMachineTemplate": "labmachinetemplates."}[kind] + InfraGroup
	d.Labels = map[string]string{clusterv1.GroupVersion.Group + "/v1beta2": "v1beta2"}
	return d
}

// Template is an infrastructure template.
func Template(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"size": "small"}}}}}
	u.SetAPIVersion(InfraAPIVersion)
	u.SetKind("LabMachineTemplate")
	u.SetNamespace(Namespace)
	u.SetName(name)
	return u
}

// Node is the Ready Node of a server as RKE2 labels and annotates it.
func Node(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"node-role.kubernetes.io/control-plane": "true", "node-role.kubernetes.io/etcd": "true"},
			Annotations: map[string]string{controlplanev1.EtcdNodeNameAnnotation: name + "-0000000" + name[1:], controlplanev1.EtcdNodeAddressAnnotation: "10.0.0.1"},
		},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// Pod is a Ready static pod of a server.
func Pod(component, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workload.SystemNamespace, Name: component + "-" + node,
			Labels: map[string]string{"component": component, "tier": "control-plane"},
		},
		Spec:   corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// List is an empty list of LabMachines or RKE2Configs.
func List(kind string) *unstructured.UnstructuredList {
	l := &unstructured.UnstructuredList{}
	l.SetAPIVersion(map[string]string{"LabMachine": InfraAPIVersion, "RKE2Config": bootstrapv1.GroupVersion.String()}[kind])
	l.SetKind(kind + "List")
	return l
}
