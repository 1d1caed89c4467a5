package labclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	return l.managementConfig(name)
}

func (l *Lab) managementConfig(name string) (*rest.Config, error) {
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
	if errors.Is(err, fs.ErrNotExist) && name != "" {
		return nil, fmt.Errorf("the lab has no management cluster %q; `lab management add` starts one", name)
	}
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

// LocalWorkloadKubeconfig does the same for a workload cluster whose objects
// are in the named management cluster.
func (l *Lab) LocalWorkloadKubeconfig(ctx context.Context, management string, cluster client.ObjectKey) (path string, err error) {
	config, err := l.managementConfig(management)
	if err != nil {
		return "", err
	}
	inside, err := workloadKubeconfig(ctx, config, cluster)
	if err != nil {
		return "", err
	}
	return l.localise(ctx, inside)
}
