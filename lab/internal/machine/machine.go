// Package machine starts, kills and disturbs lab machines: sets of namespaces
// with a disk folder and an address on a common bridge, which behave like
// small virtual computers. It must run inside a sandbox (package sandbox), so
// that machines, links and mounts end with it.
package machine

import (
	"fmt"
	"net/netip"

	"github.com/drover-project/drover/lab/internal/guest"
)

// Role says what a machine is for. The lab's machines are all alike; load
// balancers look at it.
type Role string

// The roles of a machine.
const (
	ControlPlane Role = "control-plane"
	Worker       Role = "worker"
)

// Format says which program works off bootstrap data.
type Format string

// The formats of bootstrap data, in Cluster API's words. None means CloudConfig.
const (
	CloudConfig Format = "cloud-config"
	Ignition    Format = "ignition"
)

// Validate refuses a format that no machine understands.
func (f Format) Validate() error {
	switch f {
	case "", CloudConfig, Ignition:
		return nil
	}
	return fmt.Errorf("lab machines do not understand the format %q, only %s and %s", f, CloudConfig, Ignition)
}

// Spec describes a machine to boot.
type Spec struct {
	// Name is the machine's name: a DNS label, unique in the lab.
	Name string
	// Hostname is what the machine is called inside; empty for its name.
	Hostname string
	Cluster  string
	Role     Role
	// BootstrapData is the user data; empty data boots a machine that does nothing.
	BootstrapData []byte
	Format        Format
	ProviderID    string
	FailureDomain string
	// LabBinary and KubeBinary are absolute paths of the program files that the
	// machine runs. Without a KubeBinary it has no Kubernetes.
	LabBinary  string
	KubeBinary string
	// Programs are the absolute paths of more program files, by the name that
	// they get in the machine's paths.ProgramDir.
	Programs map[string]string
}

// State says what a machine is doing.
type State string

// A machine starts as Starting, becomes Running, and ends as Terminated or,
// when it never came up, Failed.
const (
	Starting   State = "Starting"
	Running    State = "Running"
	Terminated State = "Terminated"
	Failed     State = "Failed"
)

// Info is what is known of a machine.
type Info struct {
	Name          string
	Hostname      string
	Cluster       string
	Role          Role
	IP            netip.Addr
	ProviderID    string
	FailureDomain string
	State         State
	// Reason says why the machine is Terminated or Failed.
	Reason string
	// Frozen machines run no instruction; their addresses still answer ARP.
	Frozen bool
	// Cut machines have their network cable pulled.
	Cut bool
	// Boot tells how the user data went.
	Boot guest.BootResult
	// Bootstrap is what the bootstrap said of itself.
	Bootstrap guest.BootstrapResult
}
