package story

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
)

// Story is one scripted run.
type Story struct {
	Name string
	// Purpose is one sentence, shown by `lab story list`.
	Purpose string
	// Alone is true for a story whose figures are promises, or that keeps the
	// computer busy by itself: nothing else may run beside it. The others
	// mostly wait, and may run together.
	Alone bool
	// Short is true for a story that `make test` plays: the shortest ones that show each kind of event.
	Short bool
	// setup is what its laboratory starts with; the zero value is the usual one.
	setup Setup
	play  func(ctx context.Context, r *Run) error
}

// Setup is what a laboratory starts with.
type Setup struct {
	// ProviderLater leaves the processes of the provider under test, its admission and its conversion out, until
	// StartProvider is called. Its kinds are there.
	ProviderLater bool
	// Nodes is how many nodes the management cluster has. With any, nothing of Cluster API is on it: not its core, not
	// the provider under test. The lab's infrastructure works as soon as its kinds and Cluster API's are there.
	Nodes int
}

// All returns the stories in the order in which they are run. The longest ones come early, so that the others run
// beside them.
func All() []Story {
	return []Story{
		foundingBug, takeover, moveCluster,
		steady, deleteCluster, managerKilled, etcdBroken, allDeleted, surgeZero, scale313, managerUpgraded, foundingBugControl,
		slowDisk, hostKilledDraining, nodeDeletedRunning, nodeDeletedLeaving, endpointBlackhole, hostKilledRemoved, unhealthyReplaced,
		externalDatastore, hostUnreported, legacyEtcd, fixedNames, singleServerReplace, installRelease, ignitionBoot,
	}
}

// Find returns the stories of those names.
func Find(names ...string) ([]Story, error) {
	all := All()
	var out []Story
	for _, name := range names {
		i := slices.IndexFunc(all, func(s Story) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("no story is called %q; there are: %s", name, strings.Join(known, ", "))
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Lab is a running laboratory, as far as stories need one.
type Lab interface {
	// Management is the client configuration of the management cluster.
	Management() *rest.Config
	// DialContext opens a connection to an address inside the laboratory.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	// Exec runs a command inside a machine and returns its combined output and exit code.
	Exec(ctx context.Context, machine string, argv ...string) (output string, exitCode int, err error)
	// MachineNames lists the machines that exist.
	MachineNames(ctx context.Context) ([]string, error)
	// Disturb kills, freezes or cuts off a machine, or ends that.
	Disturb(ctx context.Context, machine string, fault control.Fault) error
	// DisturbBalancer makes the load balancer of a Cluster silent, or ends that.
	DisturbBalancer(ctx context.Context, cluster client.ObjectKey, fault control.Fault) error
	// StopProvider ends the processes of the provider under test, with SIGKILL.
	StopProvider(ctx context.Context) error
	// StartProvider starts them with additional arguments and returns once they are ready and what they admit and
	// convert is passed to them. It is for a laboratory whose Setup has ProviderLater, and after StopProvider.
	StartProvider(ctx context.Context, args ...string) error
	// StartOtherProvider is StartProvider with another program file.
	StartOtherProvider(ctx context.Context, program string) error
	// AddManagement starts one more management cluster, on which everything runs that runs on the first one, and returns
	// its client configuration. The machines and load balancers of the laboratory are common to all.
	AddManagement(ctx context.Context, name string) (*rest.Config, error)
	// LocalManagementKubeconfig writes a kubeconfig of a management cluster, "" for the first, that programs outside of
	// the laboratory can use until ctx ends.
	LocalManagementKubeconfig(ctx context.Context, name string) (path string, err error)
	// PID is the root of the laboratory's process tree.
	PID() int
	// Down ends everything.
	Down(ctx context.Context) error
}

// StartFunc starts a laboratory in a run folder and reports progress through say.
type StartFunc func(ctx context.Context, dir string, setup Setup, say func(string)) (Lab, error)
