package bootstrap

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/render"
)

// crossNamespaceFlag of the managers lets references leave the namespace of their object. Admission refuses them as
// well, but stored objects may be older than that, and configs made from them are not refused.
const crossNamespaceFlag = "--allow-cross-namespace-references"

// resolver reads the Secrets and ConfigMaps a config refers to. Each problem is a wait that names the field.
type resolver struct {
	reader client.Reader
	// namespace is where a reference without one leads.
	namespace      string
	crossNamespace bool
}

// contents reads everything the settings in refer to and the machine needs.
func (v *resolver) contents(ctx context.Context, in *render.Input, controlPlane *controlplanev1.RKE2ControlPlane) (render.Contents, error) {
	var out render.Contents
	for _, read := range []func(context.Context, *render.Input, *render.Contents) error{
		v.files, v.agent, v.registries, v.shared,
	} {
		if err := read(ctx, in, &out); err != nil {
			return out, err
		}
	}
	if in.Role == render.Worker {
		return out, nil
	}
	if err := v.server(ctx, in, &out); err != nil {
		return out, err
	}
	if ref := controlPlane.Spec.ManifestsConfigMapReference; ref.Name != "" {
		data, err := v.configMap(ctx, "manifestsConfigMapReference", ref.Namespace, ref.Name)
		if err != nil {
			return out, err
		}
		out.Manifests = data
	}
	return out, nil
}

func (v *resolver) files(ctx context.Context, in *render.Input, out *render.Contents) error {
	out.Files = map[int][]byte{}
	for i := range in.Config.Files {
		source := in.Config.Files[i].ContentFrom
		if source == nil {
			continue
		}
		field := fmt.Sprintf("files[%d].contentFrom (%s)", i, in.Config.Files[i].Path)
		read, ref := v.secret, source.Secret
		if ref == nil {
			read, ref = v.configMap, source.ConfigMap
		}
		if ref == nil {
			return waitFor(bootstrapv1.DataSecretNotAvailableReason, "%s: set secret or configMap", field)
		}
		data, err := read(ctx, field, ref.Namespace, ref.Name, ref.Key)
		if err != nil {
			return err
		}
		if out.Files[i], err = value(field, ref.Name, data, ref.Key); err != nil {
			return err
		}
	}
	return nil
}

func (v *resolver) agent(ctx context.Context, in *render.Input, out *render.Contents) error {
	agent := &in.Config.AgentConfig
	var err error
	if out.ResolvConf, err = v.one(ctx, v.configMap, "agentConfig.resolvConf", agent.ResolvConf, "resolv.conf"); err != nil {
		return err
	}
	const field = "agentConfig.imageCredentialProviderConfigMap"
	ref := agent.ImageCredentialProviderConfigMap
	if out.CredentialProviderConfig, err = v.one(ctx, v.configMap, field, ref, "credential-config.yaml"); err != nil {
		return err
	}
	binaries, err := v.one(ctx, v.configMap, field, ref, "credential-provider-binaries")
	out.CredentialProviderBinaries = string(binaries)
	return err
}

func (v *resolver) shared(ctx context.Context, in *render.Input, out *render.Contents) (err error) {
	out.CloudProviderConfig, err = v.one(ctx, v.configMap, "serverConfig.cloudProviderConfigMap",
		in.Server.CloudProviderConfigMap, "cloud-config")
	return err
}

func (v *resolver) server(ctx context.Context, in *render.Input, out *render.Contents) error {
	var err error
	out.AuditPolicy, err = v.one(ctx, v.secret, "serverConfig.auditPolicySecret", in.Server.AuditPolicySecret, "audit-policy.yaml")
	if err != nil {
		return err
	}
	if encryption := in.Server.SecretsEncryption; encryption != nil {
		out.EncryptionKey, err = v.one(ctx, v.secret, "serverConfig.secretsEncryption.encryptionKeySecret",
			encryption.EncryptionKeySecret, "encryptionKey")
		if err != nil {
			return err
		}
	}
	if err := v.s3(ctx, in.Server.Etcd.BackupConfig.S3, out); err != nil {
		return err
	}
	return v.datastore(ctx, in.Server.ExternalDatastoreSecret, out)
}

func (v *resolver) s3(ctx context.Context, s3 *controlplanev1.EtcdS3, out *render.Contents) error {
	if s3 == nil {
		return nil
	}
	const field = "serverConfig.etcd.backupConfig.s3"
	var err error
	if out.S3.CA, err = v.one(ctx, v.secret, field+".endpointCAsecret", s3.EndpointCASecret, "ca.pem"); err != nil {
		return err
	}
	access, err := v.one(ctx, v.secret, field+".s3CredentialSecret", s3.S3CredentialSecret, "aws_access_key_id")
	if err != nil {
		return err
	}
	secret, err := v.one(ctx, v.secret, field+".s3CredentialSecret", s3.S3CredentialSecret, "aws_secret_access_key")
	out.S3.AccessKey, out.S3.SecretKey = string(access), string(secret)
	return err
}

func (v *resolver) datastore(ctx context.Context, ref *corev1.ObjectReference, out *render.Contents) error {
	if ref == nil {
		return nil
	}
	const field = "serverConfig.externalDatastoreSecret"
	data, err := v.secret(ctx, field, ref.Namespace, ref.Name, "endpoint", "ca.pem", "cert.pem", "key.pem")
	if err != nil {
		return err
	}
	endpoint, err := value(field, ref.Name, data, "endpoint")
	if err != nil {
		return err
	}
	out.Datastore = &render.Datastore{
		Endpoint: string(endpoint), CA: data["ca.pem"], Cert: data["cert.pem"], Key: data["key.pem"],
	}
	if (len(out.Datastore.Cert) == 0) != (len(out.Datastore.Key) == 0) {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"%s: Secret %s has only one of cert.pem and key.pem; give both or none", field, ref.Name).lookAgain()
	}
	return nil
}

func (v *resolver) registries(ctx context.Context, in *render.Input, out *render.Contents) error {
	out.Registries = map[string]render.RegistrySecrets{}
	for name, config := range in.Config.PrivateRegistriesConfig.Configs {
		field := fmt.Sprintf("privateRegistriesConfig.configs[%s]", name)
		var registry render.RegistrySecrets
		if ref := config.AuthSecret; ref.Name != "" {
			data, err := v.secret(ctx, field+".authSecret", ref.Namespace, ref.Name, "username", "password", "identity-token")
			if err != nil {
				return err
			}
			registry.Username, registry.Password = string(data["username"]), string(data["password"])
			registry.IdentityToken = string(data["identity-token"])
			if registry.IdentityToken == "" && (registry.Username == "" || registry.Password == "") {
				return waitFor(bootstrapv1.DataSecretNotAvailableReason,
					"%s.authSecret: Secret %s needs the keys username and password, or identity-token", field, ref.Name).
					lookAgain()
			}
		}
		if ref := config.TLS.TLSConfigSecret; ref.Name != "" {
			data, err := v.secret(ctx, field+".tls.tlsConfigSecret", ref.Namespace, ref.Name,
				"ca.crt", corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
			if err != nil {
				return err
			}
			registry.CA, registry.Cert, registry.Key = data["ca.crt"], data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]
			if len(registry.CA) == 0 && len(registry.Cert) == 0 || (len(registry.Cert) == 0) != (len(registry.Key) == 0) {
				return waitFor(bootstrapv1.DataSecretNotAvailableReason,
					"%s.tls.tlsConfigSecret: Secret %s needs the key ca.crt, or tls.crt and tls.key, or all three", field, ref.Name).
					lookAgain()
			}
		}
		out.Registries[name] = registry
	}
	return nil
}

// readFunc reads all values of one object. The keys are those that are wanted; messages name them.
type readFunc func(ctx context.Context, field, namespace, name string, keys ...string) (map[string][]byte, error)

// one reads one value an optional reference leads to.
func (v *resolver) one(ctx context.Context, read readFunc, field string, ref *corev1.ObjectReference, key string) ([]byte, error) {
	if ref == nil {
		return nil, nil
	}
	data, err := read(ctx, field, ref.Namespace, ref.Name, key)
	if err != nil {
		return nil, err
	}
	return value(field, ref.Name, data, key)
}

func value(field, name string, data map[string][]byte, key string) ([]byte, error) {
	if len(data[key]) == 0 {
		return nil, waitFor(bootstrapv1.DataSecretNotAvailableReason, "%s: %s has no value under the key %q", field, name, key).
			lookAgain()
	}
	return data[key], nil
}

func (v *resolver) secret(ctx context.Context, field, namespace, name string, keys ...string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := v.get(ctx, field, "Secret", namespace, name, keys, secret); err != nil {
		return nil, err
	}
	return secret.Data, nil
}

func (v *resolver) configMap(ctx context.Context, field, namespace, name string, keys ...string) (map[string][]byte, error) {
	configMap := &corev1.ConfigMap{}
	if err := v.get(ctx, field, "ConfigMap", namespace, name, keys, configMap); err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, text := range configMap.Data {
		data[key] = []byte(text)
	}
	for key, content := range configMap.BinaryData {
		data[key] = content
	}
	return data, nil
}

func (v *resolver) get(ctx context.Context, field, kind, namespace, name string, keys []string, obj client.Object) error {
	if namespace == "" {
		namespace = v.namespace
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if namespace != v.namespace && !v.crossNamespace {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"%s: %s %s%s is in another namespace and is not read: copy it to namespace %s and name it without a namespace, "+
				"or have the managers started with %s", field, kind, key, list(keys), v.namespace, crossNamespaceFlag)
	}
	err := v.reader.Get(ctx, key, obj)
	if apierrors.IsNotFound(err) {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason, "%s: %s %s does not exist", field, kind, key).
			lookAgain()
	}
	if err != nil {
		return fmt.Errorf("%s: get %s %s: %w", field, kind, key, err)
	}
	return nil
}

// list names the keys that are wanted of an object; nothing when all are.
func list(keys []string) string {
	switch len(keys) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (key %s)", keys[0])
	default:
		return fmt.Sprintf(" (keys %s)", strings.Join(keys, ", "))
	}
}
