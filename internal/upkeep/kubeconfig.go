package upkeep

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/cluster-api/util/kubeconfig"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// kubeconfig keeps the administrator's kubeconfig: it makes it once the
// endpoint is known, follows the endpoint and the server's authority, and
// renews the certificate in it when half of its life is over. One that
// somebody else made is left alone.
func (u *Upkeep) kubeconfig(ctx context.Context, s *scope.Scope) error {
	if !s.Cluster.Spec.ControlPlaneEndpoint.IsValid() {
		return nil
	}
	key := client.ObjectKey{Namespace: s.Cluster.Namespace, Name: secrets.Names(s.Cluster.Name).Kubeconfig}
	found := &corev1.Secret{}
	err := u.Client.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		return u.createKubeconfig(ctx, s, key)
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", key, err)
	case !oursToChange(found, s):
		return nil
	}
	return u.renewKubeconfig(ctx, s, found)
}

func (u *Upkeep) createKubeconfig(ctx context.Context, s *scope.Scope, key client.ObjectKey) error {
	server, signer, err := u.kubeconfigAuthorities(ctx, s)
	if err != nil {
		return err
	}
	value, err := newKubeconfig(s.Cluster.Name, endpointURL(s.Cluster), server, signer)
	if err != nil {
		return fmt.Errorf("make Secret %s: %w", key, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       key.Namespace,
			Name:            key.Name,
			Labels:          map[string]string{clusterv1.ClusterNameLabel: s.Cluster.Name},
			OwnerReferences: []metav1.OwnerReference{desired.Controller(s.ControlPlane)},
		},
		Type: secrets.Type,
		Data: map[string][]byte{secrets.ValueKey: value},
	}
	// Somebody else may have been quicker; the next look sees what there is.
	if err := u.Client.Create(ctx, secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s: %w", key, err)
	}
	return nil
}

func (u *Upkeep) renewKubeconfig(ctx context.Context, s *scope.Scope, secret *corev1.Secret) error {
	server, signer, err := u.kubeconfigAuthorities(ctx, s)
	if err != nil {
		return err
	}
	url := endpointURL(s.Cluster)
	if kubeconfigFits(secret.Data[secrets.ValueKey], url, server, u.Now()) {
		return nil
	}
	value, err := newKubeconfig(s.Cluster.Name, url, server, signer)
	if err != nil {
		return fmt.Errorf("renew Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	updated := secret.DeepCopy()
	updated.Data = maps.Clone(secret.Data)
	if updated.Data == nil {
		updated.Data = map[string][]byte{}
	}
	updated.Data[secrets.ValueKey] = value
	// The lock keeps two managers from renewing one after the other.
	patch := client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
	if err := u.Client.Patch(ctx, updated, patch); err != nil {
		return fmt.Errorf("renew Secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	return nil
}

// authority is a certificate authority that can sign.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// kubeconfigAuthorities are the two RKE2 keeps apart: the one clients verify
// the API server with, and the one that signs clients.
func (u *Upkeep) kubeconfigAuthorities(ctx context.Context, s *scope.Scope) (server []byte, signer authority, err error) {
	serverCA, err := secrets.LookupCA(ctx, u.Client, s.ClusterKey(), secrets.ServerCA)
	if err != nil {
		return nil, authority{}, err
	}
	clientCA, err := secrets.LookupCA(ctx, u.Client, s.ClusterKey(), secrets.ClientCA)
	if err != nil {
		return nil, authority{}, err
	}
	name := secrets.CAName(s.Cluster.Name, secrets.ClientCA)
	certificate, err := certs.DecodeCertPEM(clientCA.Cert)
	if err != nil {
		return nil, authority{}, fmt.Errorf("the certificate in Secret %s/%s can't be read", s.Cluster.Namespace, name)
	}
	key, err := certs.DecodePrivateKeyPEM(clientCA.Key)
	if err != nil || key == nil {
		return nil, authority{}, fmt.Errorf("the key in Secret %s/%s can't be read", s.Cluster.Namespace, name)
	}
	return serverCA.Cert, authority{certificate: certificate, key: key}, nil
}

// newKubeconfig makes a kubeconfig with a new certificate of a year for
// kubernetes-admin of system:masters.
func newKubeconfig(cluster, url string, server []byte, signer authority) ([]byte, error) {
	config, err := kubeconfig.New(cluster, url, signer.certificate, signer.key)
	if err != nil {
		return nil, err
	}
	// The library knows a single authority for both sides.
	config.Clusters[cluster].CertificateAuthorityData = server
	return clientcmd.Write(*config)
}

// kubeconfigFits tells whether a kubeconfig still serves. One that can't be
// read does not.
func kubeconfigFits(value []byte, url string, server []byte, now time.Time) bool {
	config, err := clientcmd.Load(value)
	if err != nil || len(config.Clusters) == 0 || len(config.AuthInfos) == 0 {
		return false
	}
	for _, cluster := range config.Clusters {
		if cluster.Server != url || !firstCertificateEqual(cluster.CertificateAuthorityData, server) {
			return false
		}
	}
	for _, user := range config.AuthInfos {
		certificate, err := certs.DecodeCertPEM(user.ClientCertificateData)
		if err != nil || certificate == nil {
			return false
		}
		life := certificate.NotAfter.Sub(certificate.NotBefore)
		if certificate.NotAfter.Sub(now) < life/2 {
			return false
		}
	}
	return true
}

// firstCertificateEqual compares what clients verify with. A kubeconfig made
// by another provider may hold only the first certificate of the authority.
func firstCertificateEqual(a, b []byte) bool {
	left, errLeft := certs.DecodeCertPEM(a)
	right, errRight := certs.DecodeCertPEM(b)
	return errLeft == nil && errRight == nil && left != nil && right != nil && bytes.Equal(left.Raw, right.Raw)
}

func endpointURL(cluster *clusterv1.Cluster) string {
	return "https://" + cluster.Spec.ControlPlaneEndpoint.String()
}
