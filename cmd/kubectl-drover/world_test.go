package main

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/etcd/etcdtest"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/worldtest"
	"github.com/drover-project/drover/test/apiserver"
)

const (
	oldVersion = "v1.36.2+rke2r1"
	newVersion = "v1.36.3+rke2r1"
)

// world is a real API server that is the management cluster and, by the
// kubeconfig in the Secret, also the workload cluster of demo/c. Its etcd are
// three members of their own.
type world struct {
	*testing.T
	g       Gomega
	config  *rest.Config
	api     client.Client
	etcd    *etcdtest.Cluster
	cluster *clusterv1.Cluster
	cp      *controlplanev1.RKE2ControlPlane
	servers []*clusterv1.Machine
}

// newWorld makes three whole servers of the old version, of a control plane
// that wishes for the new one.
func newWorld(t *testing.T) *world {
	t.Helper()
	server := apiserver.Start(t, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI},
		CRDs: []*apiextensionsv1.CustomResourceDefinition{
			apiserver.InfrastructureKind(worldtest.InfraGroup, "v1beta2", "LabMachine"), apiserver.InfrastructureKind(worldtest.InfraGroup, "v1beta2", "LabMachineTemplate"),
		},
	})
	w := &world{T: t, g: NewWithT(t), config: server.Config, etcd: etcdtest.Start(t, 3)}
	scheme, err := apiserver.Scheme()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.api, err = server.Client(scheme)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: worldtest.Namespace}})
	w.makeCluster()
	w.makeSecrets()
	for i := range 3 {
		w.makeServer(i)
	}
	return w
}

func (w *world) create(obj client.Object) {
	w.Helper()
	w.g.Expect(w.api.Create(w.Context(), obj)).To(Succeed())
}

// status stores the status of an object that was created just now.
func (w *world) status(obj client.Object) {
	w.Helper()
	w.g.Expect(w.api.Status().Update(w.Context(), obj)).To(Succeed())
}

func (w *world) makeCluster() {
	w.cluster = &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: "c"},
		Spec: clusterv1.ClusterSpec{
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "192.0.2.1", Port: 6443},
			ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "cp"},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: worldtest.InfraGroup, Kind: "LabCluster", Name: "c"},
		},
	}
	w.create(w.cluster)
	w.cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{InfrastructureProvisioned: ptr.To(true), ControlPlaneInitialized: ptr.To(true)}
	w.status(w.cluster)
	w.create(worldtest.Template("t"))
	w.cp = &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: worldtest.Namespace, Name: "cp", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.cluster, clusterv1.GroupVersion.WithKind("Cluster"))},
		},
		Spec: controlplanev1.RKE2ControlPlaneSpec{Version: newVersion, Replicas: ptr.To[int32](3)},
	}
	w.cp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: worldtest.InfraGroup, Kind: "LabMachineTemplate", Name: "t"}
	w.create(w.cp)
	w.cp.Status.Version = oldVersion
	w.cp.Status.Initialization.ControlPlaneInitialized = ptr.To(true)
	w.status(w.cp)
}

func (w *world) makeSecrets() {
	add := func(name string, data map[string][]byte) {
		w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: name}, Data: data})
	}
	for _, purpose := range secrets.Purposes(false) {
		add(secrets.CAName("c", purpose), map[string][]byte{secrets.CertKey: w.etcd.Authority.Certificate, secrets.PrivateKeyKey: w.etcd.Authority.Key})
	}
	add(secrets.Names("c").Token, map[string][]byte{secrets.ValueKey: []byte("token")})
	add(secrets.Names("c").AgentToken, map[string][]byte{secrets.ValueKey: []byte("agent token")})
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: w.config.Host, CertificateAuthorityData: w.config.CAData}
	raw.AuthInfos["c"] = &clientcmdapi.AuthInfo{ClientCertificateData: w.config.CertData, ClientKeyData: w.config.KeyData}
	raw.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}
	raw.CurrentContext = "c"
	text, err := clientcmd.Write(*raw)
	w.g.Expect(err).NotTo(HaveOccurred())
	add(secrets.Names("c").Kubeconfig, map[string][]byte{secrets.ValueKey: text})
}

// makeServer makes a Machine m<i> with its Node n<i>, which runs the member of
// that number.
func (w *world) makeServer(i int) {
	name, nodeName := fmt.Sprintf("m%d", i), fmt.Sprintf("n%d", i)
	old := w.cp.DeepCopy()
	old.Spec.Version = oldVersion
	server, err := desired.NewServer(old, w.cluster, worldtest.Template("t"), name, "")
	w.g.Expect(err).NotTo(HaveOccurred())
	server.Infrastructure.SetFinalizers([]string{"lab.example.com/host"})
	w.create(server.Infrastructure)
	w.create(server.Config)
	m := server.Machine
	m.Finalizers = []string{clusterv1.MachineFinalizer}
	w.create(m)
	m.Status.NodeRef.Name = nodeName
	m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	w.status(m)
	w.servers = append(w.servers, m)
	node := worldtest.Node(nodeName)
	ready := node.Status
	for i := range ready.Conditions {
		ready.Conditions[i].LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
	}
	w.create(node)
	node.Status = ready
	w.status(node)
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		static := worldtest.Pod(component, nodeName)
		static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: component}
		w.pod(static)
	}
}

// pod stores a pod with its status.
func (w *world) pod(p *corev1.Pod) {
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "none"}}
	status := p.Status
	w.create(p)
	p.Status = status
	p.Status.Phase = corev1.PodRunning
	w.status(p)
}

// drain lets core be draining a server since a while, held up by a budget.
func (w *world) drain(m *clusterv1.Machine) {
	w.g.Expect(w.api.Get(w.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
	before := m.DeepCopy()
	delete(m.Annotations, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	w.g.Expect(w.api.Patch(w.Context(), m, client.MergeFrom(before))).To(Succeed())
	w.g.Expect(w.api.Delete(w.Context(), m)).To(Succeed())
	w.phase(m, clusterv1.MachineDeletingDrainingNodeReason, "Drain not completed yet")
	pod := worldtest.Pod("none", m.Status.NodeRef.Name)
	pod.Namespace, pod.Name, pod.Labels = metav1.NamespaceDefault, "cart-0", map[string]string{"app": "cart"}
	w.pod(pod)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "cart"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cart"}}},
	}
	w.create(budget)
	budget.Status = policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1, DesiredHealthy: 1}
	w.status(budget)
}

// phase sets where core stands with a deletion.
func (w *world) phase(m *clusterv1.Machine, reason, message string) {
	w.g.Expect(w.api.Get(w.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
	m.Status.Conditions = []metav1.Condition{{
		Type: clusterv1.MachineDeletingCondition, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}}
	w.status(m)
}

// release lets a server be past all hooks, with its infrastructure machine
// being deleted.
func (w *world) release(m *clusterv1.Machine) {
	w.g.Expect(w.api.Get(w.Context(), client.ObjectKeyFromObject(m), m)).To(Succeed())
	before := m.DeepCopy()
	delete(m.Annotations, controlplanev1.PreTerminateHookCleanupAnnotation)
	w.g.Expect(w.api.Patch(w.Context(), m, client.MergeFrom(before))).To(Succeed())
	w.phase(m, clusterv1.MachineDeletingWaitingForInfrastructureDeletionReason, "")
	host := &unstructured.Unstructured{}
	host.SetAPIVersion(worldtest.InfraAPIVersion)
	host.SetKind("LabMachine")
	host.SetNamespace(m.Namespace)
	host.SetName(m.Spec.InfrastructureRef.Name)
	w.g.Expect(w.api.Delete(w.Context(), host)).To(Succeed())
}

// session looks with all rights, and reaches etcd without a kubelet.
func (w *world) session() *session {
	w.Helper()
	s, err := newSession(w.config, client.ObjectKey{Namespace: worldtest.Namespace, Name: "c"})
	w.g.Expect(err).NotTo(HaveOccurred())
	s.connector.Routes = []etcd.Route{w.etcd.Route()}
	return s
}

// operator is a kubeconfig of somebody with only these rights in the namespace.
func (w *world) operator(name string, rules ...rbacv1.PolicyRule) string {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: name}}
	w.create(account)
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: name}, Rules: rules})
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: worldtest.Namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: worldtest.Namespace, Name: name}},
	})
	token := &authenticationv1.TokenRequest{}
	w.g.Expect(w.api.SubResource("token").Create(w.Context(), account, token)).To(Succeed())
	return apiserver.Kubeconfig(w.T, w.config, &clientcmdapi.AuthInfo{Token: token.Status.Token})
}

// say stores conditions as the manager reports them.
func (w *world) say(conditions ...metav1.Condition) {
	w.g.Expect(w.api.Get(w.Context(), client.ObjectKeyFromObject(w.cp), w.cp)).To(Succeed())
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Now()
	}
	w.cp.Status.Conditions = conditions
	w.status(w.cp)
}
