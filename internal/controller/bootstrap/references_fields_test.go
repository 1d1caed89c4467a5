package bootstrap

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/render"
)

// references sets each reference of the API by the path it has in the table of fields.
var references = map[string]func(in *render.Input, ref *corev1.ObjectReference){
	"files[].contentFrom.secret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Config.Files = []bootstrapv1.File{{ContentFrom: &bootstrapv1.FileSource{
			Secret: &bootstrapv1.FileSourceRef{Name: ref.Name, Key: "x"},
		}}}
	},
	"files[].contentFrom.configMap": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Config.Files = []bootstrapv1.File{{ContentFrom: &bootstrapv1.FileSource{
			ConfigMap: &bootstrapv1.FileSourceRef{Name: ref.Name, Key: "x"},
		}}}
	},
	"privateRegistriesConfig.configs{}.authSecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Config.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{"r": {AuthSecret: *ref}}
	},
	"privateRegistriesConfig.configs{}.tls.tlsConfigSecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Config.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
			"r": {TLS: bootstrapv1.TLSConfig{TLSConfigSecret: *ref}},
		}
	},
	"agentConfig.resolvConf": func(in *render.Input, ref *corev1.ObjectReference) { in.Config.AgentConfig.ResolvConf = ref },
	"agentConfig.imageCredentialProviderConfigMap": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Config.AgentConfig.ImageCredentialProviderConfigMap = ref
	},
	"serverConfig.auditPolicySecret": func(in *render.Input, ref *corev1.ObjectReference) { in.Server.AuditPolicySecret = ref },
	"serverConfig.cloudProviderConfigMap": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Server.CloudProviderConfigMap = ref
	},
	"serverConfig.externalDatastoreSecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Server.ExternalDatastoreSecret = ref
	},
	"serverConfig.secretsEncryption.encryptionKeySecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Server.SecretsEncryption = &controlplanev1.SecretsEncryption{EncryptionKeySecret: ref}
	},
	"serverConfig.etcd.backupConfig.s3.s3CredentialSecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Server.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{S3CredentialSecret: ref}
	},
	"serverConfig.etcd.backupConfig.s3.endpointCAsecret": func(in *render.Input, ref *corev1.ObjectReference) {
		in.Server.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{EndpointCASecret: ref}
	},
}

// TestEveryReferenceIsRead makes sure that a reference is followed on the nodes its field reaches and on no others, and
// that one which leads nowhere is reported with the field and the object.
func TestEveryReferenceIsRead(t *testing.T) {
	reader := fake.NewClientBuilder().Build()
	isReference := regexp.MustCompile(`(?i)(secret|configMap|resolvConf)$`)
	seen := 0
	for _, row := range render.Fields() {
		if !isReference.MatchString(row.Path) {
			continue
		}
		set, ok := references[row.Path]
		if !ok {
			t.Errorf("%s is not in the list of references", row.Path)
			continue
		}
		seen++
		for _, role := range []render.Role{render.FirstServer, render.JoiningServer, render.Worker} {
			in := render.Input{Role: role}
			set(&in, &corev1.ObjectReference{Name: "gone"})
			resolver := resolver{reader: reader, namespace: "own"}
			_, err := resolver.contents(t.Context(), &in, &controlplanev1.RKE2ControlPlane{})
			if !slices.Contains(row.Roles, role) {
				if err != nil {
					t.Errorf("%s, %s: %v", row.Path, role, err)
				}
				continue
			}
			field, _, _ := strings.Cut(strings.NewReplacer("[]", "[0]", "{}", "[r]").Replace(row.Path), ".contentFrom.")
			if err == nil || !strings.HasPrefix(err.Error(), field) || !strings.Contains(err.Error(), " own/gone does not exist") {
				t.Errorf("%s, %s: %v", row.Path, role, err)
			}
		}
	}
	if seen != len(references) {
		t.Errorf("the table has %d of the %d references", seen, len(references))
	}
}
