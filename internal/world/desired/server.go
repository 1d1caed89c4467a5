package desired

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/external"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Server is what a new server consists of.
type Server struct {
	Infrastructure *unstructured.Unstructured
	Config         *bootstrapv1.RKE2Config
	Machine        *clusterv1.Machine
}

// NewServer returns the objects of a new server with the given name. The
// template is the infrastructure template named by the control plane. The
// failure domain may be empty.
func NewServer(cp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, template *unstructured.Unstructured, name, failureDomain string) (Server, error) {
	infra, err := Infrastructure(cp, cluster, template, name)
	if err != nil {
		return Server{}, err
	}
	config := Config(cp, cluster, name)
	machine, err := Machine(cp, cluster, name, failureDomain)
	if err != nil {
		return Server{}, err
	}
	machine.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infra.GroupVersionKind().Group,
		Kind:     infra.GetKind(),
		Name:     infra.GetName(),
	}
	return Server{Infrastructure: infra, Config: config, Machine: machine}, nil
}

// Machine returns a new Machine without its infrastructure reference. Both
// hooks are on it from birth, so that there is no moment in which it can be
// deleted around them.
func Machine(cp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, name, failureDomain string) (*clusterv1.Machine, error) {
	config, err := ServerConfiguration(cp)
	if err != nil {
		return nil, err
	}
	annotations := Annotations(cp)
	annotations[controlplanev1.ServerConfigurationAnnotation] = config
	annotations[controlplanev1.RegistrationAnnotation] = RegistrationOf(cp).String()
	annotations[controlplanev1.MadeByAnnotation] = controlplanev1.MadeByDrover
	for key, value := range Hooks() {
		annotations[key] = value
	}
	return &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       cp.Namespace,
			Name:            name,
			Labels:          Labels(cp, cluster.Name),
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{Controller(cp)},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:    cluster.Name,
			Version:        cp.Spec.Version,
			FailureDomain:  failureDomain,
			Deletion:       Deletion(cp),
			ReadinessGates: ReadinessGates(cp),
			Taints:         Taints(cp),
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group,
				Kind:     "RKE2Config",
				Name:     name,
			}},
		},
	}, nil
}

// Config returns a new RKE2Config. It belongs to the control plane until core
// hands it to the Machine.
func Config(cp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, name string) *bootstrapv1.RKE2Config {
	return &bootstrapv1.RKE2Config{
		TypeMeta: metav1.TypeMeta{APIVersion: bootstrapv1.GroupVersion.String(), Kind: "RKE2Config"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       cp.Namespace,
			Name:            name,
			Labels:          Labels(cp, cluster.Name),
			Annotations:     Annotations(cp),
			OwnerReferences: []metav1.OwnerReference{owner(cp)},
		},
		Spec: *cp.Spec.RKE2ConfigSpec.DeepCopy(),
	}
}

// Infrastructure returns a new infrastructure machine made from the template,
// with the annotations that say which template it came from.
func Infrastructure(cp *controlplanev1.RKE2ControlPlane, cluster *clusterv1.Cluster, template *unstructured.Unstructured, name string) (*unstructured.Unstructured, error) {
	ref := owner(cp)
	infra, err := external.GenerateTemplate(&external.GenerateTemplateInput{
		Template: template,
		TemplateRef: &corev1.ObjectReference{
			APIVersion: template.GetAPIVersion(),
			Kind:       template.GetKind(),
			Namespace:  template.GetNamespace(),
			Name:       template.GetName(),
		},
		Namespace:   cp.Namespace,
		Name:        name,
		ClusterName: cluster.Name,
		OwnerRef:    &ref,
		Labels:      Labels(cp, cluster.Name),
		Annotations: Annotations(cp),
	})
	if err != nil {
		return nil, fmt.Errorf("infrastructure template %s %s/%s: %w", template.GetKind(), template.GetNamespace(), template.GetName(), err)
	}
	return infra, nil
}

// Hooks are our deletion hooks with their values, the owner by convention.
func Hooks() map[string]string {
	return map[string]string{
		controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation: "",
		controlplanev1.PreTerminateHookCleanupAnnotation:           "",
	}
}

// Deletion holds the time limits of deleting a Machine. They also reach
// Machines that exist.
func Deletion(cp *controlplanev1.RKE2ControlPlane) clusterv1.MachineDeletionSpec {
	d := cp.Spec.MachineTemplate.Spec.Deletion
	return clusterv1.MachineDeletionSpec{
		NodeDrainTimeoutSeconds:        d.NodeDrainTimeoutSeconds,
		NodeVolumeDetachTimeoutSeconds: d.NodeVolumeDetachTimeoutSeconds,
		NodeDeletionTimeoutSeconds:     d.NodeDeletionTimeoutSeconds,
	}
}

// ServerConfiguration is the value of the Machine annotation that records the
// server configuration.
func ServerConfiguration(cp *controlplanev1.RKE2ControlPlane) (string, error) {
	b, err := json.Marshal(cp.Spec.ServerConfig)
	if err != nil {
		return "", fmt.Errorf("write spec.serverConfig of control plane %s/%s as JSON: %w", cp.Namespace, cp.Name, err)
	}
	return string(b), nil
}

// Controller is the owner reference by which a Machine belongs to the control
// plane.
func Controller(cp *controlplanev1.RKE2ControlPlane) metav1.OwnerReference {
	return *metav1.NewControllerRef(cp, controlplanev1.GroupVersion.WithKind("RKE2ControlPlane"))
}

// owner is a reference without control: core makes the Machine the controller
// of its infrastructure machine and config.
func owner(cp *controlplanev1.RKE2ControlPlane) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: controlplanev1.GroupVersion.String(),
		Kind:       "RKE2ControlPlane",
		Name:       cp.Name,
		UID:        cp.UID,
	}
}
