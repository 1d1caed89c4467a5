package management

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// onlyRoot is what a laboratory without other users makes of a new pod: the
// kubelet could not give files to the user that the pod names.
const onlyRoot = `Object{spec: Object.spec{
  securityContext: Object.spec.securityContext{runAsNonRoot: false, runAsUser: 0, runAsGroup: 0},
  containers: object.spec.containers.map(c, Object.spec.containers{
    name: c.name,
    securityContext: Object.spec.containers.securityContext{runAsNonRoot: false, runAsUser: 0, runAsGroup: 0}
  })
}}`

// RunPodsAsRoot lets every new pod run as root, whatever user it names.
func (p *Plane) RunPodsAsRoot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := p.installClient()
	if err != nil {
		return err
	}
	name := metav1.ObjectMeta{Name: "lab-has-only-root"}
	for _, o := range []client.Object{
		&admissionv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			FailurePolicy:      ptr.To(admissionv1.Fail),
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: onlyRoot},
			}},
		}},
		&admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: name, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name.Name}},
	} {
		if err := c.Create(ctx, o); err != nil {
			return fmt.Errorf("let pods run as root: %w", err)
		}
	}
	return nil
}
