package repository

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/management"
)

const (
	// infrastructureVersion is made up: the provider is a part of the laboratory and has no releases.
	infrastructureVersion   = "v1.0.0"
	infrastructureNamespace = "lab-system"
)

// writeInfrastructure writes what clusterctl has to install for the
// laboratory's infrastructure: its kinds. Its controllers are the laboratory.
func writeInfrastructure(dir string) error {
	kinds, err := management.LabCRDs()
	if err != nil {
		return err
	}
	label := clusterctlv1.ManifestLabel(Infrastructure, clusterctlv1.InfrastructureProviderType)
	objects := []any{&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: infrastructureNamespace, Labels: map[string]string{clusterv1.ProviderNameLabel: label}},
	}}
	for _, kind := range kinds {
		kind.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		metav1.SetMetaDataLabel(&kind.ObjectMeta, clusterv1.ProviderNameLabel, label)
		objects = append(objects, kind)
	}
	if err := writeYAML(filepath.Join(dir, infrastructureComponents), objects...); err != nil {
		return err
	}
	return writeYAML(filepath.Join(dir, metadataFile), &clusterctlv1.Metadata{
		TypeMeta:      metav1.TypeMeta{APIVersion: clusterctlv1.GroupVersion.String(), Kind: "Metadata"},
		ReleaseSeries: []clusterctlv1.ReleaseSeries{{Major: 1, Minor: 0, Contract: clusterv1.GroupVersion.Version}},
	})
}

// writeYAML writes one document for each object.
func writeYAML(path string, objects ...any) error {
	var all bytes.Buffer
	for _, o := range objects {
		data, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		all.WriteString("---\n")
		all.Write(data)
	}
	return os.WriteFile(path, all.Bytes(), 0o644)
}
