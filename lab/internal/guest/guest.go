// Package guest is what runs inside a lab machine: its first process, a small
// service manager that behaves like systemd as far as RKE2 and user data need
// it, and the commands which user data calls (systemctl, curl, …).
package guest

import (
	"net/netip"
	"time"

	"github.com/drover-project/drover/lab/internal/cloudinit"
	"github.com/drover-project/drover/lab/internal/ignition"
)

const (
	// InitApplet is the first process of a machine.
	InitApplet     = "machine-init"
	servicesApplet = "machine-services"
	cloudInit      = "cloud-init"
	ignitionApplet = "ignition"

	// ConfigFD is the file descriptor on which InitApplet expects its Config (JSON).
	ConfigFD = 3
	// StatusFD is the file descriptor to which it writes a stream of Report (JSON).
	StatusFD = 4

	// NodeService is the applet, and the service, of a node of the management cluster.
	NodeService = "kubenode"
	// Interface is the machine's only network device beside lo.
	Interface = "eth0"
)

// Applets are the commands of this package by the name they are called with
// (first argument, or name of the program file). Each returns its exit code.
var Applets = map[string]func(args []string) int{
	InitApplet:     initMain,
	servicesApplet: servicesMain,
	cloudInit:      cloudinit.Main,
	ignitionApplet: ignition.Main,
	"systemctl":    systemctlMain,
	"journalctl":   journalctlMain,
	"curl":         curlMain,
	"wget":         wgetMain,
}

// commands are the applets which a machine offers in its PATH.
var commands = []string{"systemctl", "journalctl", "curl", "wget", cloudInit}

// Instance is a machine's metadata, as a cloud would give it (paths.InstanceFile).
type Instance struct {
	Name          string     `json:"name"`
	Hostname      string     `json:"hostname"`
	Cluster       string     `json:"cluster"`
	IP            netip.Addr `json:"ip"`
	ProviderID    string     `json:"providerID"`
	FailureDomain string     `json:"failureDomain"`
}

// Config is what the machine manager tells a machine's first process.
type Config struct {
	Instance Instance     `json:"instance"`
	Address  netip.Prefix `json:"address"`
	Gateway  netip.Addr   `json:"gateway"`
	// Disk is the folder, outside of the machine, that holds what it writes.
	Disk string `json:"disk"`
	// Hidden is the lab's run folder: the machine sees an empty one instead.
	Hidden string `json:"hidden"`
	// LabBinary and KubeBinary are the program files outside of the machine.
	// An empty KubeBinary leaves the machine without Kubernetes.
	LabBinary  string `json:"labBinary"`
	KubeBinary string `json:"kubeBinary,omitempty"`
	// Programs are more program files outside of the machine, by the name that
	// they get in paths.ProgramDir.
	Programs map[string]string `json:"programs,omitempty"`
}

// BootState says how far a machine's user data has come.
type BootState string

// The states of user data: it ends as Succeeded or Failed.
const (
	BootPending   BootState = "Pending"
	BootSucceeded BootState = "Succeeded"
	BootFailed    BootState = "Failed"
)

// BootResult tells how the user data went (paths.BootResultFile).
type BootResult struct {
	State BootState `json:"state"`
	// Message says what went wrong.
	Message string `json:"message,omitempty"`
	// FinishedAt is when the last command had ended.
	FinishedAt time.Time `json:"finishedAt,omitzero"`
}

// BootstrapResult is the word that the bootstrap itself left in
// paths.BootstrapDir. While there is none the state is BootPending.
type BootstrapResult struct {
	State BootState `json:"state"`
	// Message is what paths.BootstrapFailure says, shortened where it is long.
	Message string `json:"message,omitempty"`
}

// Report is one message of a machine's first processes to the machine manager.
type Report struct {
	// Ready is set once the service manager answers.
	Ready bool `json:"ready,omitempty"`
	// Failure says why the machine cannot start.
	Failure string `json:"failure,omitempty"`
	// Boot is set once the user data has been worked off.
	Boot *BootResult `json:"boot,omitempty"`
	// Bootstrap is set whenever the bootstrap leaves another word.
	Bootstrap *BootstrapResult `json:"bootstrap,omitempty"`
}
