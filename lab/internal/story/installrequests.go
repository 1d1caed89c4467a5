package story

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// surgeSentence is a part of what a user reads who asks for the impossible.
const surgeSentence = "maxSurge 0 needs replicas of at least 3"

// judgeRequests sends the API server requests for which it has to ask the managers, and asks it what they may do.
func (i *installation) judgeRequests(ctx context.Context, c *Cluster) error {
	if err := i.judgeOldVersion(ctx, c); err != nil {
		return err
	}
	i.judgeRefusals(ctx, c)
	return i.judgeRights(ctx)
}

// judgeOldVersion reads the control plane as clients of the older API version do.
func (i *installation) judgeOldVersion(ctx context.Context, c *Cluster) error {
	plane, err := i.oldPlane(ctx, c)
	if err != nil {
		return err
	}
	name, _, _ := unstructured.NestedString(plane.Object, "spec", "machineTemplate", "infrastructureRef", "name")
	i.r.Check("control plane", "is served in v1beta1 too", name == c.Spec.Name+"-servers", "spec.machineTemplate.infrastructureRef.name %q", name)
	return nil
}

func (i *installation) oldPlane(ctx context.Context, c *Cluster) (*unstructured.Unstructured, error) {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(controlPlaneKind.GroupKind().WithVersion("v1beta1"))
	if err := i.r.Management.Get(ctx, c.Spec.planeKey(), plane); err != nil {
		return nil, fmt.Errorf("read control plane in v1beta1: %w", err)
	}
	return plane, nil
}

// judgeRefusals asks for what must be refused, in both API versions. In the older one only the webhook knows the rule.
func (i *installation) judgeRefusals(ctx context.Context, c *Cluster) {
	for _, version := range []string{"v1beta2", "v1beta1"} {
		plane := &unstructured.Unstructured{}
		plane.SetGroupVersionKind(controlPlaneKind.GroupKind().WithVersion(version))
		plane.SetNamespace(namespace)
		plane.SetName(c.Spec.ControlPlane)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"rolloutStrategy":{"rollingUpdate":{"maxSurge":0}}}}`))
		err := i.r.Management.Patch(ctx, plane, patch)
		message := "it was accepted"
		if err != nil {
			message = err.Error()
		}
		refused := strings.Contains(message, surgeSentence) && (version == "v1beta2" || strings.Contains(message, "admission webhook"))
		i.r.Check("admission", "maxSurge 0 with one server is refused in "+version, refused, "%s", shorten(message))
	}
}

// right is something that a manager may do or not.
type right struct {
	account                          string // namespace:name
	verb, group, resource, namespace string
	subject                          string // name of the object, if it matters
	allowed                          bool
}

const (
	bootstrapAccount    = "rke2-bootstrap-system:rke2-bootstrap-manager"
	controlPlaneAccount = "rke2-control-plane-system:rke2-control-plane-manager"
)

// rights are what the manifests promise, without which the managers cannot work or with which they would have too much.
var rights = []right{
	{account: bootstrapAccount, verb: "create", resource: "secrets", namespace: namespace, allowed: true},
	{account: controlPlaneAccount, verb: "create", group: clusterv1.GroupVersion.Group, resource: "machines", namespace: namespace, allowed: true},
	{account: bootstrapAccount, verb: "delete", resource: "secrets", namespace: namespace},
	{account: controlPlaneAccount, verb: "delete", resource: "secrets", namespace: namespace},
	{account: bootstrapAccount, verb: "create", group: clusterv1.GroupVersion.Group, resource: "machines", namespace: namespace},
	{account: bootstrapAccount, verb: "delete", group: controlPlaneKind.Group, resource: "rke2controlplanes", namespace: namespace},
	{account: controlPlaneAccount, verb: "delete", group: clusterv1.GroupVersion.Group, resource: "clusters", namespace: namespace},
	{account: controlPlaneAccount, verb: "list", resource: "configmaps", namespace: namespace},
	{account: bootstrapAccount, verb: "list", resource: "pods", namespace: namespace},
	{account: controlPlaneAccount, verb: "create", resource: "pods", namespace: namespace},
	{account: controlPlaneAccount, verb: "patch", group: "admissionregistration.k8s.io", resource: "validatingwebhookconfigurations", subject: "capi-validating-webhook-configuration"},
	{account: controlPlaneAccount, verb: "create", group: "rbac.authorization.k8s.io", resource: "clusterrolebindings"},
}

func (r right) String() string {
	_, name, _ := strings.Cut(r.account, ":")
	may := "may"
	if !r.allowed {
		may = "may not"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", name, may, r.verb, r.resource, r.subject))
}

// judgeRights asks the API server what the managers may do.
func (i *installation) judgeRights(ctx context.Context) error {
	for _, right := range rights {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + right.account,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: right.verb, Group: right.group, Resource: right.resource, Namespace: right.namespace, Name: right.subject,
			},
		}}
		if err := i.r.Management.Create(ctx, review); err != nil {
			return fmt.Errorf("ask whether %s: %w", right, err)
		}
		i.r.Check("rights", right.String(), review.Status.Allowed == right.allowed, "allowed: %t", review.Status.Allowed)
	}
	return nil
}
