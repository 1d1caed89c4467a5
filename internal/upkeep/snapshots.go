package upkeep

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// s3SecretType is the type RKE2's documentation gives the Secret.
const s3SecretType = "etcd.k3s.cattle.io/s3-config-secret"

// snapshots keeps the Secret of the workload cluster in which its servers find the bucket for snapshots, so that new
// credentials reach servers that run. The Secret stays when the settings are taken away: servers made with them still
// read it. Without a connection nothing is done.
func (u *Upkeep) snapshots(ctx context.Context, s *scope.Scope) error {
	config := desired.ServerConfig(s.ControlPlane, s.ControlPlane.Spec.ServerConfig)
	s3 := config.Etcd.BackupConfig.S3
	release, err := version.Parse(s.ControlPlane.Spec.Version)
	if err != nil || s3 == nil || s3.S3CredentialSecret == nil || !release.HasS3ConfigSecret() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workload.CallTimeout)
	defer cancel()
	c, err := connected(ctx, s, u.Nodes.GetUncachedClient)
	if c == nil {
		return err
	}
	data, err := u.s3Settings(ctx, s.ControlPlane.Namespace, s3)
	if err != nil {
		return err
	}
	return saveS3Settings(ctx, c, data)
}

// s3Settings is the content of the Secret. Its keys are those of config.yaml.
func (u *Upkeep) s3Settings(ctx context.Context, namespace string, s3 *controlplanev1.EtcdS3) (map[string][]byte, error) {
	skip := !ptr.Deref(s3.EnforceSSLVerify, true)
	data := map[string][]byte{"etcd-s3-skip-ssl-verify": []byte(strconv.FormatBool(skip))}
	for key, value := range map[string]string{
		"etcd-s3-endpoint": s3.Endpoint, "etcd-s3-bucket": s3.Bucket, "etcd-s3-region": s3.Region, "etcd-s3-folder": s3.Folder,
	} {
		if value != "" {
			data[key] = []byte(value)
		}
	}
	credentials, err := u.referenced(ctx, namespace, s3.S3CredentialSecret, map[string]string{
		"aws_access_key_id": "etcd-s3-access-key", "aws_secret_access_key": "etcd-s3-secret-key",
	})
	if err != nil {
		return nil, fmt.Errorf("serverConfig.etcd.backupConfig.s3.s3CredentialSecret: %w", err)
	}
	maps.Copy(data, credentials)
	if s3.EndpointCASecret == nil {
		return data, nil
	}
	authority, err := u.referenced(ctx, namespace, s3.EndpointCASecret, map[string]string{"ca.pem": "etcd-s3-endpoint-ca"})
	if err != nil {
		return nil, fmt.Errorf("serverConfig.etcd.backupConfig.s3.endpointCAsecret: %w", err)
	}
	maps.Copy(data, authority)
	return data, nil
}

// referenced reads keys of a Secret that a spec names, under other names.
func (u *Upkeep) referenced(ctx context.Context, namespace string, ref *corev1.ObjectReference, names map[string]string) (map[string][]byte, error) {
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if ref.Namespace != "" && ref.Namespace != namespace {
		if !u.CrossNamespaceReferences {
			return nil, fmt.Errorf("read Secret %s/%s: it is in another namespace, which is not allowed", ref.Namespace, ref.Name)
		}
		key.Namespace = ref.Namespace
	}
	secret := &corev1.Secret{}
	if err := u.Live.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	out := map[string][]byte{}
	for from, to := range names {
		if len(secret.Data[from]) == 0 {
			return nil, fmt.Errorf("read Secret %s: it has no value under the key %q", key, from)
		}
		out[to] = secret.Data[from]
	}
	return out, nil
}

// saveS3Settings writes the Secret when it differs.
func saveS3Settings(ctx context.Context, c client.Client, data map[string][]byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: controlplanev1.S3ConfigSecretName},
		Type:       s3SecretType, Data: data,
	}
	key := client.ObjectKeyFromObject(secret)
	found := &corev1.Secret{}
	err := c.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		if err := c.Create(ctx, secret); err != nil {
			return fmt.Errorf("create Secret %s of the workload cluster: %w", key, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s of the workload cluster: %w", key, err)
	}
	if equality.Semantic.DeepEqual(found.Data, data) {
		return nil
	}
	found.Data = data
	if err := c.Update(ctx, found); err != nil {
		return fmt.Errorf("update Secret %s of the workload cluster: %w", key, err)
	}
	return nil
}
