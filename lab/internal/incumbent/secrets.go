package incumbent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// authorityFolder is where the first server finds the authorities that it is given.
const authorityFolder = "/var/lib/rancher/rke2/server/tls"

// tokenBytes is the length of a token before it is written in hexadecimal digits.
const tokenBytes = 16

// newAuthorities makes the four certificate authorities of a cluster: RSA keys, ten years, all of the name
// "kubernetes" and the serial number 0, as Cluster API's own library makes them.
func newAuthorities() (secret.Certificates, error) {
	made := secret.Certificates{
		newAuthority(secret.ClusterCA, "server-ca"), newAuthority(clientAuthority, "client-ca"),
		newAuthority(peerAuthority, "etcd/peer-ca"), newAuthority(secret.EtcdCA, "etcd/server-ca"),
	}
	for _, authority := range made {
		if err := authority.Generate(); err != nil {
			return nil, fmt.Errorf("make authority %s: %w", authority.Purpose, err)
		}
	}
	return made, nil
}

// newAuthority names the files of an authority on the first server, without their ends.
func newAuthority(purpose secret.Purpose, file string) *secret.Certificate {
	file = path.Join(authorityFolder, file)
	return &secret.Certificate{Purpose: purpose, CertFile: file + ".crt", KeyFile: file + ".key"}
}

// saveAuthorities stores authorities, which belong to the control plane.
func (b *builder) saveAuthorities(ctx context.Context) error {
	for _, authority := range b.authorities {
		if err := b.create(ctx, authority.AsSecret(b.Cluster, b.controlledByPlane(olderVersion))); err != nil {
			return err
		}
	}
	return nil
}

// saveToken makes the token with which servers and workers alike join.
func (b *builder) saveToken(ctx context.Context) error {
	random := make([]byte, tokenBytes)
	if _, err := rand.Read(random); err != nil {
		return fmt.Errorf("make token: %w", err)
	}
	b.token = hex.EncodeToString(random)
	return b.create(ctx, &corev1.Secret{
		ObjectMeta: b.meta(b.Cluster.Name+"-token", b.controlledByCluster()),
		Type:       clusterv1.ClusterSecretType,
		Data:       map[string][]byte{"value": []byte(b.token)},
	})
}

// saveKubeconfig makes the administrator's kubeconfig. It sets no type, so that the Secret is Opaque.
func (b *builder) saveKubeconfig(ctx context.Context) error {
	signer := b.authorities.GetByPurpose(clientAuthority).KeyPair
	cert, err := certs.DecodeCertPEM(signer.Cert)
	if err != nil {
		return fmt.Errorf("make kubeconfig: %w", err)
	}
	key, err := certs.DecodePrivateKeyPEM(signer.Key)
	if err != nil {
		return fmt.Errorf("make kubeconfig: %w", err)
	}
	config, err := kubeconfig.New(b.Cluster.Name, "https://"+b.cluster.Spec.ControlPlaneEndpoint.String(), cert, key)
	if err != nil {
		return fmt.Errorf("make kubeconfig: %w", err)
	}
	// The library knows one authority only; servers of RKE2 have one of their own.
	config.Clusters[b.Cluster.Name].CertificateAuthorityData = b.authorities.GetByPurpose(secret.ClusterCA).KeyPair.Cert
	if b.kubeconfig, err = clientcmd.Write(*config); err != nil {
		return fmt.Errorf("make kubeconfig: %w", err)
	}
	stored := kubeconfig.GenerateSecretWithOwner(b.Cluster, b.kubeconfig, b.controlledByPlane(version))
	stored.Type = corev1.SecretTypeOpaque
	return b.create(ctx, stored)
}

// saveBootstrapData stores the bootstrap data of a machine under the name of its config.
func (b *builder) saveBootstrapData(ctx context.Context, config client.Object, data []byte) error {
	stored := &corev1.Secret{
		ObjectMeta: b.meta(config.GetName(), *metav1.NewControllerRef(config, configKind)),
		Type:       clusterv1.ClusterSecretType,
		Data:       map[string][]byte{"value": data, "format": []byte("cloud-config")},
	}
	return b.create(ctx, stored)
}

// lock is the ConfigMap that says which machine starts the cluster. It is gone once that machine has come up.
func (b *builder) lock(machine string) (*corev1.ConfigMap, error) {
	holder, err := json.Marshal(map[string]string{"machineName": machine})
	if err != nil {
		return nil, fmt.Errorf("make lock: %w", err)
	}
	owner := b.controlledByCluster()
	owner.Controller, owner.BlockOwnerDeletion = nil, nil
	return &corev1.ConfigMap{
		ObjectMeta: b.meta(b.Cluster.Name+"-lock", owner),
		Data:       map[string]string{"lock-information": string(holder)},
	}, nil
}

func (b *builder) meta(name string, owner metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: b.Cluster.Namespace, Name: name, OwnerReferences: []metav1.OwnerReference{owner},
		Labels: map[string]string{clusterv1.ClusterNameLabel: b.Cluster.Name},
	}
}
