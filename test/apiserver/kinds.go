package apiserver

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	droverModule     = "github.com/drover-project/drover"
	clusterAPIModule = "sigs.k8s.io/cluster-api"
)

// Kinds are definitions in a folder, or one in a file, of a Go module.
type Kinds struct{ module, path string }

var (
	// Drover are the kinds of this project, as they are generated: without
	// conversion.
	Drover = Kinds{droverModule, "config/crd/bases"}
	// Laboratory are the kinds of the laboratory's infrastructure provider.
	Laboratory = Kinds{droverModule, "lab/api/crds"}
	// ClusterAPI are all kinds of Cluster API's core provider.
	ClusterAPI = Kinds{clusterAPIModule, "core/config/crd/bases"}
	// Clusters are nothing but the first among them.
	Clusters = Kinds{clusterAPIModule, "core/config/crd/bases/cluster.x-k8s.io_clusters.yaml"}
)

// folder is where the definitions are.
func (k Kinds) folder(ctx context.Context) (string, error) {
	folder, err := moduleFolder(ctx, k.module)
	return filepath.Join(folder, filepath.FromSlash(k.path)), err
}

// Read returns the definitions.
func (k Kinds) Read(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	folder, err := k.folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	options := &envtest.CRDInstallOptions{Paths: []string{folder}, ErrorIfPathMissing: true}
	if err := envtest.ReadCRDFiles(options); err != nil {
		t.Fatalf("read the definitions in %s: %v", folder, err)
	}
	return options.CRDs
}

// moduleFolder is where a module is that this one needs, or this one itself.
func moduleFolder(ctx context.Context, module string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// InfrastructureKind defines a kind as a small infrastructure provider has it:
// one version with any content, which is what Cluster API's contract v1beta2
// asks for.
func InfrastructureKind(group, version, kind string) *apiextensionsv1.CustomResourceDefinition {
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group, Labels: map[string]string{"cluster.x-k8s.io/v1beta2": version}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind), Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
}
