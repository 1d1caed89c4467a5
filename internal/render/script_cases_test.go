package render

import (
	"slices"
	"strings"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

const goodInstall = "install server v1.36.3+rke2r1"

var scriptCases = map[string]scriptCase{
	"server": {
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", goodInstall, "systemctl mask rke2-agent.service", "systemctl daemon-reload",
			"systemctl enable rke2-server.service", "systemctl start rke2-server.service",
		},
	},
	"worker": {
		change:   func(in *Input) { *in = worker() },
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", "install agent v1.36.3+rke2r1", "systemctl mask rke2-server.service",
			"systemctl daemon-reload", "systemctl enable rke2-agent.service", "systemctl start rke2-agent.service",
		},
	},
	"users' commands": {
		change: func(in *Input) {
			in.Config.PreRKE2Commands = []string{
				"export HTTPS_PROXY=http://proxy", `echo "pre $NOT_SET" >>"$CALLS"; \`, "set +e", "false",
				"cat >>\"$CALLS\" <<'X'\n  here $document\nX",
			}
			in.Config.PostRKE2Commands = []string{`echo "post $(cat /run/cluster-api/bootstrap-success.complete)" >>"$CALLS"`}
		},
		sentinel: true,
		calls: []string{
			"pre ", "  here $document", "curl https://get.rke2.io", goodInstall + " via http://proxy",
			"systemctl mask rke2-agent.service", "systemctl daemon-reload", "systemctl enable rke2-server.service",
			"systemctl start rke2-server.service", "post success",
		},
	},
	"mask fails": {
		stub:     map[string]string{"systemctl": `[ "$1" != mask ]`},
		sentinel: true,
	},
	"download fails": {
		stub:    map[string]string{"curl": `echo no route >&2; exit 22`},
		code:    22,
		calls:   slices.Repeat([]string{"sleep 10"}, 9),
		failure: []string{"step: download the RKE2 install script\nexit code: 22\n", "no route\n"},
	},
	"download is no script": {
		stub:    map[string]string{"curl": `while [ "$1" != -o ]; do shift; done; echo '<html>' >"$2"`},
		code:    1,
		failure: []string{"https://get.rke2.io did not answer with a script\n"},
	},
	"install fails": {
		stub:    map[string]string{"curl": `while [ "$1" != -o ]; do shift; done; printf '#!/bin/sh\nexit 7' >"$2"`},
		code:    7,
		calls:   []string{"sleep 10", "sleep 10"},
		failure: []string{"step: install RKE2 v1.36.3+rke2r1\nexit code: 7\n"},
	},
	"install fails once": {
		stub: map[string]string{"curl": `while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\n[ -e "$0.2" ] || { touch "$0.2"; exit 7; }' >"$2"`},
		sentinel: true,
	},
	"enable fails": {
		stub:    map[string]string{"systemctl": `[ "$1" != enable ] || { echo unit not found; exit 5; }`},
		code:    5,
		failure: []string{"step: enable rke2-server.service\nexit code: 5\n", "unit not found\n"},
	},
	"start fails": {
		stub:    map[string]string{"systemctl": `[ "$1" != start ] || exit 3`},
		code:    3,
		calls:   append([]string{"curl https://get.rke2.io", goodInstall}, slices.Repeat([]string{"sleep 5"}, 59)...),
		failure: []string{"step: start rke2-server.service\nexit code: 3\n", "the journal of rke2-server.service\n"},
	},
	"start fails at first": {
		stub:     map[string]string{"systemctl": `[ "$1" != start ] || [ -e "$CALLS.2" ] || { touch "$CALLS.2"; exit 3; }`},
		sentinel: true,
		calls:    []string{"curl https://get.rke2.io", goodInstall, "sleep 5"},
	},
	"a pre-command fails": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"true", "echo why; (exit 4)"} },
		code:    4,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[1]\nexit code: 4\n", "why\n"},
	},
	"a pre-command exits": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"exit 0"} },
		code:    1,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[0]\nexit code: 0\nthe step ended the script before all steps were done\n"},
	},
	"a pre-command is no shell": {
		change:  func(in *Input) { in.Config.PreRKE2Commands = []string{"echo 'unterminated"} },
		code:    2,
		calls:   []string{},
		failure: []string{"step: preRKE2Commands[0]\nexit code: 2\n"},
	},
	"a post-command fails": {
		change:   func(in *Input) { in.Config.PostRKE2Commands = []string{"(exit 9)"} },
		code:     9,
		sentinel: true,
		failure:  []string{"step: postRKE2Commands[0]\nexit code: 9\n"},
	},
	"CIS": {
		change:   func(in *Input) { in.Config.AgentConfig.CISProfile = "cis" },
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", goodInstall,
			"useradd --system --user-group --no-create-home --shell /sbin/nologin --comment etcd user etcd",
			"sysctl -p /etc/sysctl.d/60-rke2-cis.conf",
			"systemctl mask rke2-agent.service", "systemctl daemon-reload", "systemctl enable rke2-server.service",
			"systemctl start rke2-server.service",
		},
	},
	"annotations of a worker's Node": {
		change:   annotatedWorker,
		sentinel: true,
		calls: []string{
			"curl https://get.rke2.io", "install agent v1.36.3+rke2r1", "systemctl mask rke2-server.service",
			"systemctl daemon-reload", "systemctl enable rke2-agent.service", "systemctl start rke2-agent.service",
			"kubectl --kubeconfig=/opt/data/agent/kubelet.kubeconfig --request-timeout=30s " +
				"auth whoami --output=jsonpath={.status.userInfo.username}",
			"kubectl --kubeconfig=/opt/data/agent/kubelet.kubeconfig --request-timeout=30s patch node worker-1 --type=merge " +
				`--patch={"metadata":{"annotations":{"b":"","example.com/a":"it's \"x=y\""}}}`,
			"post",
		},
	},
	"the Node is late": {
		change: annotatedWorker,
		stub: map[string]string{"kubectl": `[ -e "$CALLS.2" ] || { touch "$CALLS.2"; exit 1; }
case $* in *whoami*) echo system:node:worker-1 ;; *) [ -e "$CALLS.3" ] || { touch "$CALLS.3"; exit 1; } ;; esac`},
		sentinel: true,
	},
	"the Node does not come": {
		change:   annotatedWorker,
		stub:     map[string]string{"kubectl": `echo not found >&2; exit 1`},
		sentinel: true,
		code:     1,
		failure:  []string{"step: annotate the Node\nexit code: 1\n", "not found\n"},
	},
	"air-gapped": {
		change: func(in *Input) {
			in.Config.AgentConfig.AirGapped = true
			in.Config.AgentConfig.AirGappedChecksum = strings.ToUpper(fixtureChecksum)
		},
		sentinel: true,
		calls: []string{
			"image server /opt/rke2-artifacts", "systemctl mask rke2-agent.service", "systemctl daemon-reload",
			"systemctl enable rke2-server.service", "systemctl start rke2-server.service",
		},
	},
	"air-gapped, wrong checksum": {
		change: func(in *Input) {
			in.Config.AgentConfig.AirGapped = true
			in.Config.AgentConfig.AirGappedChecksum = strings.Repeat("0", 64)
		},
		code:    1,
		calls:   []string{},
		failure: []string{"step: check the checksum of the artifacts\n"},
	},
	"air-gapped, wrong release": {
		change:  func(in *Input) { in.Config.AgentConfig.AirGapped = true },
		stub:    map[string]string{"rke2": `echo "rke2 version v1.30.0+rke2r1 (0123abc)"`},
		code:    1,
		calls:   []string{"image server /opt/rke2-artifacts"},
		failure: []string{"the artifacts of the machine image are of RKE2 v1.30.0+rke2r1, not v1.36.3+rke2r1\n"},
	},
}

// installChecksum is that of the script that the stub of curl leaves.
const installChecksum = "0e4f3afeadaf67fcb47df99b1a945ff12257e6501b1b1d51fa92ba36409a0ea3"

const otherChecksum = "0000000000000000000000000000000000000000000000000000000000000000"

// installCases are about what is fetched, from where, and what is there already.
var installCases = map[string]scriptCase{
	"mirrors": {
		change: func(in *Input) {
			in.Config.AgentConfig.Install = &bootstrapv1.Install{
				ScriptURL: "https://mirror.example/install.sh", ScriptChecksum: strings.ToUpper(installChecksum),
				ArtifactURL: "https://mirror.example/it's", ChannelURL: "https://mirror.example/channels", Method: bootstrapv1.InstallTar,
			}
		},
		sentinel: true,
		calls: append([]string{
			"curl https://mirror.example/install.sh", goodInstall, "with INSTALL_RKE2_ARTIFACT_URL=https://mirror.example/it's",
			"with INSTALL_RKE2_CHANNEL_URL=https://mirror.example/channels", "with INSTALL_RKE2_METHOD=tar",
		}, startServer...),
	},
	"wrong checksum of the install script": {
		change: func(in *Input) {
			in.Config.AgentConfig.Install = &bootstrapv1.Install{ScriptChecksum: otherChecksum}
		},
		code:    1,
		calls:   []string{"curl https://get.rke2.io"},
		failure: []string{"step: check the checksum of the RKE2 install script\nexit code: 1\n"},
	},
	"installed already": {
		stub:     map[string]string{"rke2": `echo "rke2 version v1.36.3+rke2r1 (0123abc)"`},
		sentinel: true,
		calls:    startServer,
	},
	"another release is installed": {
		stub:     map[string]string{"rke2": `echo "rke2 version v1.36.3+rke2r2 (0123abc)"`},
		sentinel: true,
		calls:    append([]string{"curl https://get.rke2.io", goodInstall}, startServer...),
	},
	"installed without the role's service": {
		stub: map[string]string{
			"rke2":      `echo "rke2 version v1.36.3+rke2r1 (0123abc)"`,
			"systemctl": `[ "$1" != cat ] || exit 1; echo "systemctl $*" >>"$CALLS"`,
		},
		sentinel: true,
		calls:    append([]string{"curl https://get.rke2.io", goodInstall}, startServer...),
	},
	"air-gapped, installed already": {
		change:           func(in *Input) { in.Config.AgentConfig.AirGapped = true },
		stub:             map[string]string{"rke2": `echo "rke2 version v1.36.3+rke2r1 (0123abc)"`},
		withoutInstaller: true,
		sentinel:         true,
		calls:            startServer,
	},
	"air-gapped, another release is installed": {
		change:           func(in *Input) { in.Config.AgentConfig.AirGapped = true },
		stub:             map[string]string{"rke2": `echo "rke2 version v1.30.0+rke2r1 (0123abc)"`},
		withoutInstaller: true,
		code:             1,
		calls:            []string{},
		failure: []string{"the machine image has no /opt/install.sh, and the release that is installed is " +
			"\"v1.30.0+rke2r1\", not v1.36.3+rke2r1\n"},
	},
	"air-gapped, nothing is installed": {
		change:           func(in *Input) { in.Config.AgentConfig.AirGapped = true },
		withoutInstaller: true,
		code:             1,
		calls:            []string{},
		failure:          []string{"the release that is installed is \"\", not v1.36.3+rke2r1\n"},
	},
	"a proxy": {
		change: func(in *Input) {
			in.Config.AgentConfig.Proxy = &bootstrapv1.Proxy{HTTPSProxy: "http://u:it's@proxy"}
			in.Config.PreRKE2Commands = []string{`echo "$https_proxy" >>"$CALLS"; echo "$NO_PROXY" >>"$CALLS"`}
		},
		sentinel: true,
		calls: append([]string{
			"http://u:it's@proxy", "localhost,127.0.0.0/8,::1,10.45.0.0/16,10.46.0.0/16,.svc,.cluster.local,10.77.0.10",
			"curl https://get.rke2.io", goodInstall + " via http://u:it's@proxy",
		}, startServer...),
	},
}

var startServer = []string{
	"systemctl mask rke2-agent.service", "systemctl daemon-reload", "systemctl enable rke2-server.service",
	"systemctl start rke2-server.service",
}

// fixtureChecksum is the checksum of the checksum file runScript puts into /opt/rke2-artifacts.
const fixtureChecksum = "783eab0dd53c78e1193bf3fe266e51c08e8111f9bb44ac42e8ce0e6a3378903c"

// annotatedWorker is a worker whose Node gets annotations. Its data are where runScript puts a kubectl.
func annotatedWorker(in *Input) {
	*in = worker()
	in.Config.AgentConfig.DataDir = "/opt/data"
	in.Config.AgentConfig.NodeAnnotations = map[string]string{"example.com/a": `it's "x=y"`, "b": ""}
	in.Config.PostRKE2Commands = []string{`echo post >>"$CALLS"`}
}
