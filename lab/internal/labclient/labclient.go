// Package labclient starts labs and works with them from outside: from the
// command line and from stories.
package labclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	labv1 "github.com/drover-project/drover/lab/api/v1beta2"
	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/runfolder"
)

// providerTimeout bounds the start of a provider; on an idle computer it takes a few seconds.
const providerTimeout = 4 * time.Minute

// Lab is a running lab, seen from outside. Its methods may be called concurrently.
type Lab struct {
	folder     runfolder.Folder
	state      runfolder.State
	control    *control.Client
	management *rest.Config
	wait       func() error // waits for the sandbox; nil when another process started it
}

// Attach connects to the lab that runs in the folder dir.
func Attach(dir string) (*Lab, error) {
	folder, err := runfolder.At(dir)
	if err != nil {
		return nil, err
	}
	state, alive, err := folder.Alive()
	if err != nil {
		return nil, err
	}
	if !alive {
		return nil, fmt.Errorf("no lab is running in %s; start one with `lab up`, or name its folder with --dir", folder)
	}
	return attach(folder, state)
}

func attach(folder runfolder.Folder, state runfolder.State) (*Lab, error) {
	kubeconfig, err := os.ReadFile(folder.Kubeconfig())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the lab in %s is still starting", folder)
	}
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management cluster: %w", err)
	}
	lab := &Lab{folder: folder, state: state, control: control.NewClient(folder.ControlSocket())}
	if lab.management, err = lab.restConfig(kubeconfig); err != nil {
		return nil, fmt.Errorf("management cluster: %w", err)
	}
	return lab, nil
}

// restConfig reads a kubeconfig whose server is reached inside the lab.
func (l *Lab) restConfig(kubeconfig []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.Dial = l.control.DialContext
	// A negative rate switches client-side throttling off.
	config.QPS = -1
	return config, nil
}

// Control returns the client of the lab's control socket.
func (l *Lab) Control() *control.Client { return l.control }

// Folder returns the lab's run folder.
func (l *Lab) Folder() runfolder.Folder { return l.folder }

// PID returns the id of the first process of the lab: the root of its process
// tree. It is 0 while that is not known.
func (l *Lab) PID() int {
	if l.state.Process == nil {
		return 0
	}
	return l.state.Process.PID
}

// Management returns an administrator's access to the management cluster.
func (l *Lab) Management() *rest.Config { return rest.CopyConfig(l.management) }

// Workload returns an administrator's access to the cluster, through its load
// balancer, with the kubeconfig that its control plane provider has written.
func (l *Lab) Workload(ctx context.Context, cluster client.ObjectKey) (*rest.Config, error) {
	kubeconfig, err := workloadKubeconfig(ctx, l.Management(), cluster)
	if err != nil {
		return nil, err
	}
	config, err := l.restConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", cluster, err)
	}
	return config, nil
}

// workloadKubeconfig returns the kubeconfig of a cluster as it is stored in a
// management cluster; its address is reached inside the lab only.
func workloadKubeconfig(ctx context.Context, management *rest.Config, cluster client.ObjectKey) ([]byte, error) {
	c, err := clientOf(management)
	if err != nil {
		return nil, err
	}
	stored := &corev1.Secret{}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: secret.Name(cluster.Name, secret.Kubeconfig)}
	if err := c.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("kubeconfig of cluster %s: %w", cluster, err)
	}
	return stored.Data[secret.KubeconfigDataName], nil
}

// Client returns a client of the management cluster that knows Kubernetes',
// Cluster API's and the lab's kinds, and any other as unstructured objects.
func (l *Lab) Client() (client.WithWatch, error) { return clientOf(l.Management()) }

func clientOf(management *rest.Config) (client.WithWatch, error) {
	c, err := client.NewWithWatch(management, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("client of the management cluster: %w", err)
	}
	return c, nil
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, labv1.AddToScheme} {
		if err := add(s); err != nil {
			// Only types that are not Kubernetes objects fail.
			panic(err)
		}
	}
	return s
}

// DialContext connects to an IP address and port of the lab's network.
func (l *Lab) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.control.DialContext(ctx, network, address)
}

// Exec runs a command inside a machine and returns what it printed, standard
// output first, and its exit code.
func (l *Lab) Exec(ctx context.Context, machine string, argv ...string) (output string, exitCode int, err error) {
	result, err := l.control.Exec(ctx, machine, control.ExecRequest{Argv: argv})
	return string(result.Stdout) + string(result.Stderr), result.ExitCode, err
}

// MachineNames lists the clusters' machines that exist, also those that have
// been switched off. The nodes of the management cluster are not among them.
func (l *Lab) MachineNames(ctx context.Context) ([]string, error) {
	machines, err := l.control.Machines(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, m := range machines {
		if m.Cluster != "" {
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// Disturb kills, freezes or cuts off a machine, or ends that.
func (l *Lab) Disturb(ctx context.Context, machine string, fault control.Fault) error {
	return l.control.Disturb(ctx, machine, fault)
}

// DisturbBalancer makes the load balancer of a Cluster silent, or ends that.
func (l *Lab) DisturbBalancer(ctx context.Context, cluster client.ObjectKey, fault control.Fault) error {
	return l.control.DisturbBalancer(ctx, cluster.Namespace, cluster.Name, fault)
}

// StopProvider ends the processes of the provider under test, with SIGKILL.
func (l *Lab) StopProvider(ctx context.Context) error { return l.control.StopProvider(ctx) }

// StartProvider starts the processes of the provider under test with additional arguments and returns once they are
// ready and what they admit and convert is passed to them.
func (l *Lab) StartProvider(ctx context.Context, args ...string) error {
	return l.startProvider(ctx, control.StartRequest{Args: args})
}

// StartOtherProvider is StartProvider with another program file for the provider's first process.
func (l *Lab) StartOtherProvider(ctx context.Context, program string) error {
	return l.startProvider(ctx, control.StartRequest{Program: program})
}

func (l *Lab) startProvider(ctx context.Context, request control.StartRequest) error {
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	return l.control.StartProvider(ctx, request)
}
