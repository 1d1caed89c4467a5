package workload

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/secrets"
)

// Kubeconfigs reaches workload clusters with the kubeconfig in their Secret
// <cluster>-kubeconfig, for a program that keeps no connections. It implements
// Connections.
type Kubeconfigs struct {
	// Secrets reads Secrets of the management cluster.
	Secrets client.Reader
	// UserAgent is who we are in the logs of the API servers.
	UserAgent string
	// Adjust changes the configuration before it is used, unless it is nil.
	Adjust func(*rest.Config)
}

// GetRESTConfig implements Connections. Each request with it ends after
// CallTimeout.
func (k Kubeconfigs) GetRESTConfig(ctx context.Context, cluster client.ObjectKey) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: secrets.Names(cluster.Name).Kubeconfig}
	secret := &corev1.Secret{}
	if err := k.Secrets.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	config, err := configOf(secret.Data[secrets.ValueKey])
	if err != nil {
		return nil, fmt.Errorf("kubeconfig in Secret %s: %w", key, err)
	}
	config.Timeout, config.UserAgent = CallTimeout, k.UserAgent
	if k.Adjust != nil {
		k.Adjust(config)
	}
	return config, nil
}

// configOf reads a kubeconfig. One that runs programs or reads files of the
// machine it is used on is refused: whoever may write the Secret is not
// whoever uses it.
func configOf(text []byte) (*rest.Config, error) {
	if len(text) == 0 {
		return nil, errors.New("key " + secrets.ValueKey + " is missing or empty")
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		// The error of the parser is left out: it could quote a key.
		return nil, errors.New("it can't be read")
	}
	for _, user := range raw.AuthInfos {
		if user.Exec != nil || user.AuthProvider != nil || user.ClientCertificate != "" || user.ClientKey != "" || user.TokenFile != "" {
			return nil, errors.New("it runs a program or reads files of this machine, which is refused")
		}
	}
	for _, server := range raw.Clusters {
		if server.CertificateAuthority != "" {
			return nil, errors.New("it reads files of this machine, which is refused")
		}
	}
	return newConfig(raw)
}

func newConfig(raw *clientcmdapi.Config) (*rest.Config, error) {
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, errors.New("it is not complete: cluster, user or context is missing")
	}
	return config, nil
}

// GetUncachedClient implements Connections.
func (k Kubeconfigs) GetUncachedClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	config, err := k.GetRESTConfig(ctx, cluster)
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of cluster %s: %w", cluster, err)
	}
	return c, nil
}
