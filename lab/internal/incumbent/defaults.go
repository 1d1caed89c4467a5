package incumbent

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// defaults are what its admission writes into an object, by kind, where the object has nothing of its own.
var defaults = map[string][]struct {
	path  []string
	value any
}{
	"RKE2ControlPlane": {
		{[]string{"spec", "replicas"}, int64(1)},
		{[]string{"spec", "agentConfig", "format"}, "cloud-config"},
		{[]string{"spec", "machineTemplate", "spec", "deletion", "nodeDrainTimeoutSeconds"}, int64(120)},
		{[]string{"spec", "machineTemplate", "spec", "deletion", "nodeVolumeDetachTimeoutSeconds"}, int64(300)},
		{[]string{"spec", "machineTemplate", "spec", "deletion", "nodeDeletionTimeoutSeconds"}, int64(10)},
	},
	"RKE2Config":         {{[]string{"spec", "agentConfig", "format"}, "cloud-config"}},
	"RKE2ConfigTemplate": {{[]string{"spec", "template", "spec", "agentConfig", "format"}, "cloud-config"}},
}

// Admit does to manifests what its admission would do before they are stored. Objects of other kinds, and those that
// are not unstructured, stay as they are.
func Admit(objects ...client.Object) error {
	for _, o := range objects {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		for _, d := range defaults[u.GetKind()] {
			_, found, err := unstructured.NestedFieldNoCopy(u.Object, d.path...)
			if err == nil && !found {
				err = unstructured.SetNestedField(u.Object, d.value, d.path...)
			}
			if err != nil {
				return fmt.Errorf("admit %s %s: %w", u.GetKind(), u.GetName(), err)
			}
		}
	}
	return nil
}
