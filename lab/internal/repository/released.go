package repository

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "sigs.k8s.io/cluster-api/util/yaml"
)

// droverImage is the image of both of Drover's managers.
const droverImage = "ghcr.io/drover-project/drover"

// releasedVersion reads the version of a release from the image of its manager.
func releasedVersion(components string) (string, error) {
	data, err := os.ReadFile(components)
	if err != nil {
		return "", fmt.Errorf("read release: %w", err)
	}
	objects, err := utilyaml.ToUnstructured(data)
	if err != nil {
		return "", fmt.Errorf("read release %s: %w", components, err)
	}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return "", fmt.Errorf("read release %s: Deployment %s: %w", components, o.GetName(), err)
		}
		for _, c := range containers {
			image, _ := c.(map[string]any)["image"].(string)
			if version, ok := strings.CutPrefix(image, droverImage+":"); ok {
				return version, nil
			}
		}
	}
	return "", fmt.Errorf("read release %s: no container has an image %s:VERSION", components, droverImage)
}
