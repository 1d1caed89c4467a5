package incumbent

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type fields = map[string]any

// manifests are what a user applies, in a namespace of its own.
func manifests(namespace string) []client.Object {
	object := func(apiVersion, kind, name string, spec fields) client.Object {
		return &unstructured.Unstructured{Object: fields{
			"apiVersion": apiVersion, "kind": kind, "metadata": fields{"name": name, "namespace": namespace}, "spec": spec,
		}}
	}
	return []client.Object{
		object("cluster.x-k8s.io/v1beta2", "Cluster", "demo", fields{
			"clusterNetwork":       fields{"pods": fields{"cidrBlocks": []any{"10.45.0.0/16"}}, "services": fields{"cidrBlocks": []any{"10.46.0.0/16"}}},
			"controlPlaneEndpoint": fields{"host": "10.77.0.9", "port": int64(6443)},
			"controlPlaneRef":      fields{"apiGroup": controlPlaneGroup, "kind": "RKE2ControlPlane", "name": "demo"},
			"infrastructureRef":    fields{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "LabCluster", "name": "demo"},
		}),
		object("infrastructure.cluster.x-k8s.io/v1beta2", "LabMachineTemplate", "servers", fields{"template": fields{"spec": fields{}}}),
		object("controlplane.cluster.x-k8s.io/v1beta2", "RKE2ControlPlane", "demo", fields{
			"version": "v1.36.3+rke2r1", "rolloutStrategy": fields{"type": "RollingUpdate"},
			"serverConfig": fields{"cni": "none", "etcd": fields{"exposeMetrics": true}, "disableComponents": fields{"kubernetesComponents": []any{"cloudController"}}},
			"machineTemplate": fields{"spec": fields{
				"infrastructureRef": fields{"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "LabMachineTemplate", "name": "servers"},
			}},
		}),
	}
}

// prepared applies the manifests, does core's part, and has the incumbent prepare the cluster.
func prepared(t *testing.T) (context.Context, *builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := api.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	objects := manifests(namespace.Name)
	if err := Admit(objects...); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := api.Create(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
	key := client.ObjectKey{Namespace: namespace.Name, Name: "demo"}
	cluster := &clusterv1.Cluster{}
	if err := api.Get(ctx, key, cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := api.Status().Update(ctx, cluster); err != nil {
		t.Fatal(err)
	}
	plane := objects[2]
	plane.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID}})
	if err := api.Update(ctx, plane); err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldOwner(client.WithFieldValidation(api, metav1.FieldValidationStrict), plainManager)
	b := &builder{Provider: Provider{Client: strict, Cluster: key, Say: func(string) {}}}
	if err := b.prepare(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx, b
}

func TestPreparedCluster(t *testing.T) {
	ctx, b := prepared(t)
	secrets := map[string]*corev1.Secret{}
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd", "demo-token", "demo-kubeconfig"} {
		s := &corev1.Secret{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: b.Cluster.Namespace, Name: name}, s); err != nil {
			t.Fatal(err)
		}
		if s.Labels[clusterv1.ClusterNameLabel] != "demo" || metav1.GetControllerOf(s) == nil {
			t.Errorf("%s: labels %v, owners %v", name, s.Labels, s.OwnerReferences)
		}
		secrets[name] = s
	}
	for _, name := range []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd"} {
		s := secrets[name]
		cert, err := certs.DecodeCertPEM(s.Data["tls.crt"])
		if err != nil {
			t.Fatal(err)
		}
		_, isRSA := cert.PublicKey.(*rsa.PublicKey)
		years := cert.NotAfter.Sub(cert.NotBefore).Hours() / 24 / 365
		if !isRSA || !cert.IsCA || cert.SerialNumber.Sign() != 0 || cert.Subject.CommonName != "kubernetes" || years < 9.9 || years > 10.1 {
			t.Errorf("%s: RSA %t, CA %t, serial %v, %s, %.1f years", name, isRSA, cert.IsCA, cert.SerialNumber, cert.Subject, years)
		}
		if s.Type != clusterv1.ClusterSecretType || !metav1.IsControlledBy(s, b.plane) {
			t.Errorf("%s: type %s, owners %v", name, s.Type, s.OwnerReferences)
		}
	}
	if token := secrets["demo-token"]; !regexp.MustCompile(`^[0-9a-f]{32}$`).Match(token.Data["value"]) || !metav1.IsControlledBy(token, b.cluster) {
		t.Errorf("token: owners %v", token.OwnerReferences)
	}
	config, err := clientcmd.Load(secrets["demo-kubeconfig"].Data["value"])
	if err != nil {
		t.Fatal(err)
	}
	if got := secrets["demo-kubeconfig"].Type; got != corev1.SecretTypeOpaque {
		t.Errorf("the kubeconfig is of type %s", got)
	}
	if config.CurrentContext != "demo-admin@demo" || config.Clusters["demo"].Server != "https://10.77.0.9:6443" ||
		string(config.Clusters["demo"].CertificateAuthorityData) != string(secrets["demo-ca"].Data["tls.crt"]) {
		t.Errorf("kubeconfig: context %s, clusters %v", config.CurrentContext, config.Clusters)
	}
}

func TestServersOfBothVersions(t *testing.T) {
	ctx, b := prepared(t)
	template, err := b.template(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if owners := template.GetOwnerReferences(); len(owners) != 1 || owners[0].Kind != "Cluster" {
		t.Errorf("the template's owners are %v", owners)
	}
	for _, ownerVersion := range []string{olderVersion, version} {
		s, err := b.newServer(template, ownerVersion)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.saveServer(ctx, s); err != nil {
			t.Fatal(err)
		}
		if a, b, c := s.infrastructure.GetName(), s.config.GetName(), s.machine.Name; a == b || b == c || a == c {
			t.Errorf("names %s, %s, %s", a, b, c)
		}
		checkMachine(ctx, t, b, s, ownerVersion)
		if err := b.saveBootstrapData(ctx, s.config, []byte("data")); err != nil {
			t.Fatal(err)
		}
		if err := b.publishConfig(ctx, s.config); err != nil {
			t.Fatal(err)
		}
		if agent, _, _ := unstructured.NestedString(s.config.Object, "spec", "agentConfig", "format"); agent != "cloud-config" {
			t.Errorf("the config's format is %q", agent)
		}
		ready, err := conditions.UnstructuredGet(s.config, "DataSecretAvailable")
		if err != nil || ready == nil || ready.Reason != "Available" {
			t.Errorf("DataSecretAvailable is %v, %v", ready, err)
		}
	}
	if err := b.publishPlane(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := unstructured.NestedInt64(b.plane.Object, "status", "upToDateReplicas"); n != 2 {
		t.Errorf("%d servers are up to date", n)
	}
}

func checkMachine(ctx context.Context, t *testing.T, b *builder, s machineSet, ownerVersion string) {
	t.Helper()
	m := &clusterv1.Machine{}
	if err := api.Get(ctx, client.ObjectKeyFromObject(s.machine), m); err != nil {
		t.Fatal(err)
	}
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.APIVersion != "controlplane.cluster.x-k8s.io/"+ownerVersion || owner.UID != b.plane.GetUID() {
		t.Errorf("the Machine's owner is %v", owner)
	}
	if len(m.ManagedFields) != 1 || m.ManagedFields[0].Manager != "rke2controlplane" || m.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("the Machine was written by %v", m.ManagedFields)
	}
	if _, ok := m.Annotations[cleanupHook]; !ok || len(m.Annotations) != 2 {
		t.Errorf("annotations %v", m.Annotations)
	}
	var recorded fields
	if err := json.Unmarshal([]byte(m.Annotations[serverConfiguration]), &recorded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields{
		"cni": "none", "disableComponents": fields{"kubernetesComponents": []any{"cloudController"}},
		"etcd": fields{"exposeMetrics": true, "backupConfig": fields{}},
	}, recorded); diff != "" {
		t.Error(diff)
	}
	if got := ptr.Deref(m.Spec.Deletion.NodeDrainTimeoutSeconds, 0); got != 120 {
		t.Errorf("the drain is limited to %d s", got)
	}
	from := s.infrastructure.GetAnnotations()
	if from[clusterv1.TemplateClonedFromNameAnnotation] != "servers" || from[clusterv1.TemplateClonedFromGroupKindAnnotation] != "LabMachineTemplate.infrastructure.cluster.x-k8s.io" {
		t.Errorf("the LabMachine's annotations are %v", from)
	}
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	b := &builder{cluster: &clusterv1.Cluster{}, plane: &unstructured.Unstructured{Object: fields{"spec": fields{"serverConfig": fields{"bindAddress": "::"}}}}}
	if _, err := b.settings(false); err == nil || err.Error() != "bindAddress is a setting that the lab's incumbent does not know: leave it out" {
		t.Errorf("got %v", err)
	}
}
