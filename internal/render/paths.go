package render

import (
	"path"
)

// Files the script leaves on a machine. All are gone after a reboot.
const (
	// StateDir is where the files below live.
	StateDir = "/run/cluster-api"
	// SentinelPath exists once RKE2 was installed and its service has come up, and only then. The name is given by the
	// Cluster API contract.
	SentinelPath = StateDir + "/bootstrap-success.complete"
	// FailurePath exists when the bootstrap failed. It names the step that failed and its exit code, and ends with the
	// last lines of output. Readable by root only.
	FailurePath = StateDir + "/bootstrap-failure"
	// LogPath has the whole output of the steps. Readable by root only.
	LogPath = StateDir + "/bootstrap.log"
	// stepPath names the step that runs, or ran last.
	stepPath = StateDir + "/bootstrap-step"
)

const (
	configDir = "/etc/rancher/rke2"
	// ScriptPath is the script that turns the machine into a node. It can be run again by hand after a failure.
	ScriptPath = configDir + "/bootstrap.sh"

	configPath              = configDir + "/config.yaml"
	registriesPath          = configDir + "/registries.yaml"
	registriesTLSDir        = configDir + "/tls"
	auditPolicyPath         = configDir + "/audit-policy.yaml"
	cloudProviderConfigPath = configDir + "/cloud-provider-config"
	credentialConfigPath    = configDir + "/credential-config.yaml"
	resolvConfPath          = configDir + "/resolv.conf"
	s3CAPath                = configDir + "/etcd-s3-ca.crt"
	datastoreCAPath         = configDir + "/datastore-ca.crt"
	datastoreCertPath       = configDir + "/datastore-cert.crt"
	datastoreKeyPath        = configDir + "/datastore-key.crt"

	defaultDataDir = "/var/lib/rancher/rke2"

	// airGapDir and airGapScript are where an air-gapped machine image has RKE2's artifacts and install script.
	airGapDir    = "/opt/rke2-artifacts"
	airGapScript = "/opt/install.sh"
)

// dataPath returns a path inside the folder RKE2 keeps its state in.
func (in *Input) dataPath(elem ...string) string {
	dir := in.Config.AgentConfig.DataDir
	if dir == "" {
		dir = defaultDataDir
	}
	return path.Join(append([]string{dir}, elem...)...)
}

// proxyDropIn comes before the one of the kubelet's environment, whose variables win.
const proxyDropIn = "40-proxy"

// dropInPath is a drop-in of the RKE2 service for systemd.
func (in *Input) dropInPath(name string) string {
	return "/etc/systemd/system/rke2-" + in.Role.service() + ".service.d/" + name + ".conf"
}
