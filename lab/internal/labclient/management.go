package labclient

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
)

// managementTimeout bounds the start of a further management cluster; on an idle computer it takes some ten seconds.
const managementTimeout = 6 * time.Minute

// AddManagement starts one more management cluster in the lab, with Cluster
// API, the provider under test and the infrastructure provider, and returns an
// administrator's access to it. Machines and load balancers are the lab's: a
// cluster that is moved between the management clusters keeps its own.
func (l *Lab) AddManagement(ctx context.Context, name string) (*rest.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, managementTimeout)
	defer cancel()
	if err := l.control.AddManagement(ctx, name); err != nil {
		return nil, err
	}
	kubeconfig, err := l.managementKubeconfig(name)
	if err != nil {
		return nil, err
	}
	config, err := l.restConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("management cluster %s: %w", name, err)
	}
	return config, nil
}

func (l *Lab) managementKubeconfig(name string) ([]byte, error) {
	data, err := os.ReadFile(l.folder.Plane(name).Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management cluster: %w", err)
	}
	return data, nil
}

// LocalManagementKubeconfig writes a kubeconfig of the named management cluster,
// "" for the first one, that programs outside of the lab can use until ctx ends;
// see LocalKubeconfig. The caller removes the file.
func (l *Lab) LocalManagementKubeconfig(ctx context.Context, name string) (path string, err error) {
	inside, err := l.managementKubeconfig(name)
	if err != nil {
		return "", err
	}
	return l.localise(ctx, inside)
}
