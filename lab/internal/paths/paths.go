// Package paths names the places inside a lab machine on which the parts that
// run there agree. All of them lie in the machine's own /run, /var or
// /usr/local, so none exists in the file system of the computer the lab runs on.
package paths

const (
	// RunDir holds what the lab itself puts into a machine.
	RunDir = "/run/lab"
	// AppletDir comes first in PATH; it holds links named systemctl, curl, … to LabBinary.
	AppletDir = RunDir + "/bin"
	// LabBinary is the lab's own multi-call binary, mounted read-only.
	LabBinary = RunDir + "/sbin/lab"
	// KubeBinary is the multi-call binary with etcd, the Kubernetes components
	// and kubectl, mounted read-only.
	KubeBinary = RunDir + "/sbin/kube"
	// ProgramDir holds what else the machine was given to run, mounted read-only.
	ProgramDir = RunDir + "/programs"
	// InstanceFile is the instance metadata, a JSON object of type guest.Instance.
	InstanceFile = RunDir + "/instance.json"
	// InitSocket is the unix socket of the machine's service manager.
	InitSocket = RunDir + "/init.sock"
	// BootResultFile records how the machine's user data went (guest.BootResult).
	BootResultFile = RunDir + "/boot-result.json"

	// UserDataFile holds the bootstrap data, where cloud-init keeps it too.
	UserDataFile = "/var/lib/cloud/instance/user-data.txt"
	// IgnitionFile holds the bootstrap data that are for Ignition. A real machine
	// has them from its platform and not in a file.
	IgnitionFile = "/var/lib/ignition/config.ign"
	// CloudInitLog receives all output of the user data's commands, and what the
	// units print that Ignition brought.
	CloudInitLog = "/var/log/cloud-init-output.log"

	// RKE2Binary is what the install script puts in place: a link to LabBinary.
	RKE2Binary = "/usr/local/bin/rke2"
	// RKE2VersionFile holds the installed version (v1.36.3+rke2r1) and a line feed.
	RKE2VersionFile = "/usr/local/share/rke2/version"
	// UnitDir is where an RKE2 tarball puts its systemd units and their .env files.
	UnitDir = "/usr/local/lib/systemd/system"

	// LocalUnitDir is where user data put systemd units.
	LocalUnitDir = "/etc/systemd/system"
	// PresetFile is where Ignition notes which units are enabled.
	PresetFile = "/etc/systemd/system-preset/20-ignition.preset"

	// BootstrapSentinel exists once the bootstrap has succeeded. Cluster API's contract names it.
	BootstrapSentinel = BootstrapDir + "/bootstrap-success.complete"
	// BootstrapFailure tells why the bootstrap failed, on machines with Drover's bootstrap data.
	BootstrapFailure = BootstrapDir + "/bootstrap-failure"
	// BootstrapDir holds the two.
	BootstrapDir = "/run/cluster-api"

	// SearchPath is the PATH of every process of a machine.
	SearchPath = AppletDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)
