package release

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
)

// component is what differs between the two providers.
type component struct {
	file, prefix, namespace, label, argument string
	definitions                              []string
}

var components = []component{
	{"bootstrap-components.yaml", "rke2-bootstrap-", "rke2-bootstrap-system", "bootstrap-rke2", "--provider=bootstrap",
		[]string{"rke2configs.bootstrap.cluster.x-k8s.io", "rke2configtemplates.bootstrap.cluster.x-k8s.io"}},
	{"control-plane-components.yaml", "rke2-control-plane-", "rke2-control-plane-system", "control-plane-rke2", "--provider=control-plane",
		[]string{"rke2controlplanes.controlplane.cluster.x-k8s.io", "rke2controlplanetemplates.controlplane.cluster.x-k8s.io"}},
}

func eachComponent(t *testing.T, check func(*testing.T, component, []*unstructured.Unstructured)) {
	for _, c := range components {
		t.Run(c.file, func(t *testing.T) { check(t, c, released(t, c.file, nil)) })
	}
}

// What clusterctl asks of the components of a provider.
func TestContractOfClusterctl(t *testing.T) {
	eachComponent(t, func(t *testing.T, c component, objects []*unstructured.Unstructured) {
		g := NewWithT(t)
		g.Expect(one[corev1.Namespace](t, objects, "Namespace").Name).To(Equal(c.namespace))
		for _, object := range objects {
			name := object.GetKind() + " " + object.GetName()
			g.Expect(object.GetNamespace()).To(BeElementOf("", c.namespace), name)
			g.Expect(object.GetLabels()).To(HaveKeyWithValue("cluster.x-k8s.io/provider", c.label), name)
		}
		var names []string
		for _, crd := range all[apiextensionsv1.CustomResourceDefinition](t, objects, "CustomResourceDefinition") {
			names = append(names, crd.Name)
			g.Expect(crd.Labels).To(HaveKeyWithValue("cluster.x-k8s.io/v1beta2", "v1beta1_v1beta2"), crd.Name)
			g.Expect(crd.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter), crd.Name)
			g.Expect(crd.Spec.Conversion.Webhook.ClientConfig.Service).To(HaveValue(Equal(apiextensionsv1.ServiceReference{
				Namespace: c.namespace, Name: c.prefix + "webhook-service", Path: ptr.To("/convert"),
			})), crd.Name)
		}
		g.Expect(names).To(ConsistOf(c.definitions))
	})
}

func TestDeployment(t *testing.T) {
	eachComponent(t, func(t *testing.T, c component, objects []*unstructured.Unstructured) {
		g := NewWithT(t)
		deployment := one[appsv1.Deployment](t, objects, "Deployment")
		pod := deployment.Spec.Template.Spec
		g.Expect(deployment.Name).To(Equal(c.prefix + "controller-manager"))
		g.Expect(pod.ServiceAccountName).To(Equal(one[corev1.ServiceAccount](t, objects, "ServiceAccount").Name))
		g.Expect(pod.Volumes).To(BeEmpty())
		g.Expect(pod.Containers).To(HaveLen(1))
		manager := pod.Containers[0]
		g.Expect(manager.Name).To(Equal("manager"))
		g.Expect(manager.Image).To(Equal("ghcr.io/drover-project/drover:" + version))
		g.Expect(manager.Args[:2]).To(Equal([]string{c.argument, "--leader-elect"}))
		for _, argument := range manager.Args {
			g.Expect(argument).NotTo(ContainSubstring("${"))
		}

		service := one[corev1.Service](t, objects, "Service")
		for key, value := range service.Spec.Selector {
			g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue(key, value))
		}
		port := manager.Ports[slices.IndexFunc(manager.Ports, func(p corev1.ContainerPort) bool {
			return p.Name == service.Spec.Ports[0].TargetPort.StrVal
		})]
		g.Expect(port.ContainerPort).To(Equal(int32(9443)))
		g.Expect(manager.ReadinessProbe.HTTPGet.Path).To(Equal("/readyz"))
		g.Expect(manager.LivenessProbe.HTTPGet.Path).To(Equal("/healthz"))
	})
}

// The manager needs no right on its node: it fits the policy "restricted" of
// Pod Security Admission, which its Namespace asks for.
func TestPodIsRestricted(t *testing.T) {
	eachComponent(t, func(t *testing.T, _ component, objects []*unstructured.Unstructured) {
		g := NewWithT(t)
		g.Expect(one[corev1.Namespace](t, objects, "Namespace").Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
		pod := one[appsv1.Deployment](t, objects, "Deployment").Spec.Template.Spec
		g.Expect(pod.SecurityContext).To(HaveValue(Equal(corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532),
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		})))
		g.Expect(pod.Containers[0].SecurityContext).To(HaveValue(Equal(corev1.SecurityContext{
			Privileged: ptr.To(false), AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		})))
		g.Expect(pod.HostNetwork).To(BeFalse())
	})
}

// All webhooks lead to the provider's own Service.
func TestWebhooksLeadToTheService(t *testing.T) {
	eachComponent(t, func(t *testing.T, c component, objects []*unstructured.Unstructured) {
		g := NewWithT(t)
		mutating := one[admissionv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")
		validating := one[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")
		g.Expect(mutating.Name).To(Equal(c.prefix + "mutating-webhook-configuration"))
		g.Expect(validating.Name).To(Equal(c.prefix + "validating-webhook-configuration"))
		var services []*admissionv1.ServiceReference
		for _, w := range mutating.Webhooks {
			services = append(services, w.ClientConfig.Service)
		}
		for _, w := range validating.Webhooks {
			services = append(services, w.ClientConfig.Service)
		}
		g.Expect(len(services)).To(BeNumerically(">=", 4))
		for _, service := range services {
			g.Expect(service.Namespace).To(Equal(c.namespace))
			g.Expect(service.Name).To(Equal(c.prefix + "webhook-service"))
		}
	})
}

// The managers get what they use and no more: nothing is wide open, except
// that the kinds of infrastructure providers cannot be known.
func TestRolesAreNarrow(t *testing.T) {
	eachComponent(t, func(t *testing.T, _ component, objects []*unstructured.Unstructured) {
		// Roles and ClusterRoles have the same fields, but for the aggregation rule.
		roles := append(all[rbacv1.ClusterRole](t, objects, "ClusterRole"), all[rbacv1.ClusterRole](t, objects, "Role")...)
		for _, role := range roles {
			for _, rule := range role.Rules {
				checkRule(t, role.Name, rule)
			}
		}
	})
}

func checkRule(t *testing.T, role string, rule rbacv1.PolicyRule) {
	t.Helper()
	if len(rule.APIGroups) == 0 || len(rule.Resources) == 0 || len(rule.Verbs) == 0 {
		t.Errorf("%s: %v grants nothing", role, rule)
	}
	infrastructure := slices.Equal(rule.APIGroups, []string{"infrastructure.cluster.x-k8s.io"})
	if slices.Contains(rule.Resources, "*") && !infrastructure {
		t.Errorf("%s: every resource of %v", role, rule.APIGroups)
	}
	if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Verbs, "*") {
		t.Errorf("%s: wildcard in %v", role, rule)
	}
	for _, resource := range rule.Resources {
		cluster := strings.HasPrefix(resource, "customresourcedefinitions") || strings.HasSuffix(resource, "webhookconfigurations")
		writes := slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) })
		if cluster && writes && len(rule.ResourceNames) == 0 {
			t.Errorf("%s: %v of others can be changed", role, rule.Resources)
		}
	}
}
