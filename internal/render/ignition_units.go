package render

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/coreos/ignition/v2/config/v3_3/types"
	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

const (
	// unitName is the unit that runs the script. Users' own units and drop-ins know it by this name, which the
	// compatible provider gave it.
	unitName = "rke2-install.service"
	unitDir  = "/etc/systemd/system"

	// BootstrappedPath exists, on machines that Ignition set up, from when the bootstrap succeeded, and unlike
	// SentinelPath it stays. While it is not there every boot runs the script again; cloud-init has a memory of its
	// own for that.
	BootstrappedPath = "/etc/cluster-api/bootstrap-success.complete"
)

// bootstrapUnitText is the unit that runs the script. The shell is started and not the script itself, since where
// SELinux is enforced systemd may not execute files of /etc. The console gets the output, as cloud-init's does.
// Processes that users' commands leave behind live on, as they do under cloud-init.
const bootstrapUnitText = `[Unit]
Description=Make this machine an RKE2 node
Wants=network-online.target dbus.service
After=network-online.target dbus.service
ConditionPathExists=!` + BootstrappedPath + `

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh ` + ScriptPath + `
TimeoutStartSec=infinity
KillMode=process
StandardOutput=journal+console
StandardError=journal+console

[Install]
WantedBy=multi-user.target
`

func bootstrapUnit() types.Unit {
	return types.Unit{Name: unitName, Enabled: ptr.To(true), Contents: ptr.To(bootstrapUnitText)}
}

// rememberSuccess makes the next boots leave the script alone. It comes before the sentinel, and so before the user's
// later commands: one of them may restart the machine.
func rememberSuccess(b *strings.Builder, agent *bootstrapv1.RKE2AgentConfig) {
	if agent.Format == bootstrapv1.Ignition {
		b.WriteString("mkdir -p " + quote(path.Dir(BootstrappedPath)) + "\n")
		b.WriteString("echo success >" + quote(BootstrappedPath) + "\n")
	}
}

const (
	chronyUnit    = "chronyd.service"
	chronyPath    = "/etc/chrony.conf"
	timesyncdPath = "/etc/systemd/timesyncd.conf.d/50-servers.conf"
)

// clockFiles returns the settings of the two programs that set the clock on machines that know Ignition: chrony, and
// systemd's own where there is no chrony. Without servers both have those they were built with.
func clockFiles(ntp *bootstrapv1.NTP) ([]file, error) {
	if len(ntp.Servers) == 0 {
		return nil, nil
	}
	var chrony strings.Builder
	for i, server := range ntp.Servers {
		if server == "" || strings.ContainsFunc(server, unicode.IsSpace) {
			return nil, fmt.Errorf("agentConfig.ntp.servers[%d]: %q is no host name or IP address", i, server)
		}
		fmt.Fprintf(&chrony, "server %s iburst\n", server)
	}
	// A clock that is far off is set at once in the beginning; certificates would not be valid otherwise.
	chrony.WriteString("driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n")
	timesyncd := "[Time]\nNTP=" + strings.Join(ntp.Servers, " ") + "\n"
	return []file{
		{path: chronyPath, mode: modePublic, content: []byte(chrony.String())},
		{path: timesyncdPath, mode: modePublic, content: []byte(timesyncd)},
	}, nil
}
