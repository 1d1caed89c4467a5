package render

import (
	"fmt"
	"slices"
	"strings"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// script returns the POSIX shell script that turns the machine into a node.
func script(in *Input) string {
	var b strings.Builder
	b.WriteString(scriptHead)
	exportProxy(&b, in)
	commands(&b, "preRKE2Commands", in.Config.PreRKE2Commands)
	install(&b, in)
	if in.Config.AgentConfig.CISProfile != "" {
		b.WriteString(scriptCIS)
	}
	startService(&b, in)
	annotate(&b, in)
	commands(&b, "postRKE2Commands", in.Config.PostRKE2Commands)
	b.WriteString("bootstrap_step 'done'\n")
	return b.String()
}

// scriptHead is the part that watches over the steps. The steps run in a shell of their own, so that no way of ending
// them (a syntax error in a user's command, an "exit 0" in one) passes for success. Its own lines are read and run
// before the shell sees anything of a user's.
const scriptHead = `#!/bin/sh
# Turns this machine into an RKE2 node. It can be run again after a failure:
# ` + FailurePath + ` tells what failed, ` + LogPath + ` has all output.
set -eu

bootstrap_dir=` + StateDir + `
bootstrap_sentinel=` + SentinelPath + `
bootstrap_failure=` + FailurePath + `
bootstrap_log=` + LogPath + `
bootstrap_current=` + stepPath + `

# bootstrap_step NAME: notes what runs now.
bootstrap_step() {
    printf '%s\n' "$1" >"$bootstrap_current"
    printf 'bootstrap: %s\n' "$1" >&3
    printf '== %s\n' "$1"
}

# bootstrap_retry TIMES PAUSE COMMAND...: runs the command until it succeeds, pausing PAUSE seconds in between.
bootstrap_retry() {
    bootstrap_left=$1
    bootstrap_pause=$2
    shift 2
    until "$@"; do
        bootstrap_code=$?
        bootstrap_left=$((bootstrap_left - 1))
        if [ "$bootstrap_left" -le 0 ]; then
            return "$bootstrap_code"
        fi
        sleep "$bootstrap_pause"
    done
}

# bootstrap_release: prints the release of RKE2 that is installed, nothing when none is.
bootstrap_release() {
    PATH="$PATH:/usr/local/bin:/opt/rke2/bin" rke2 --version 2>/dev/null | sed -n 's/^rke2 version \([^ ]*\).*/\1/p'
}

if [ "${1-}" != steps ]; then
    mkdir -p "$bootstrap_dir"
    rm -f "$bootstrap_sentinel" "$bootstrap_failure"
    (umask 077 && : >"$bootstrap_log" && : >"$bootstrap_current")
    bootstrap_code=0
    /bin/sh "$0" steps 3>&1 </dev/null >>"$bootstrap_log" 2>&1 || bootstrap_code=$?
    cat "$bootstrap_log"
    bootstrap_last=$(cat "$bootstrap_current")
    if [ "$bootstrap_code" -eq 0 ] && [ "$bootstrap_last" = 'done' ]; then
        exit 0
    fi
    (
        umask 077
        {
            printf 'step: %s\n' "$bootstrap_last"
            printf 'exit code: %s\n' "$bootstrap_code"
            if [ "$bootstrap_code" -eq 0 ]; then
                printf 'the step ended the script before all steps were done\n'
            fi
            printf 'last lines of output:\n'
            tail -n 20 "$bootstrap_log"
        } >"$bootstrap_failure"
    )
    printf 'bootstrap: failed in step: %s (exit code %s)\n' "$bootstrap_last" "$bootstrap_code"
    if [ "$bootstrap_code" -eq 0 ]; then
        bootstrap_code=1
    fi
    exit "$bootstrap_code"
fi

`

// commands adds the user's commands. They share one shell with the steps after them, because users set proxies and
// the like in them for the install step. They run without -u: a variable that is not set is no error in what users
// write. The blank line keeps a backslash at the end of a command from reaching the next line.
func commands(b *strings.Builder, field string, list []string) {
	if len(list) == 0 {
		return
	}
	b.WriteString("set +u\n")
	for i, command := range list {
		fmt.Fprintf(b, "bootstrap_step '%s[%d]'\n%s\n\n", field, i, command)
	}
	b.WriteString("set -eu\n")
}

// scriptCIS prepares the machine for a CIS profile: RKE2 refuses to start one without the etcd user and these kernel
// settings (https://docs.rke2.io/security/hardening_guide).
const scriptCIS = `bootstrap_step 'prepare the machine for the CIS profile'
if ! id etcd >/dev/null 2>&1; then
    useradd --system --user-group --no-create-home --shell /sbin/nologin --comment 'etcd user' etcd
fi
bootstrap_found=
for bootstrap_file in /usr/local/share/rke2 /usr/share/rke2 /opt/rke2/share/rke2; do
    bootstrap_file=$bootstrap_file/rke2-cis-sysctl.conf
    if [ -z "$bootstrap_found" ] && [ -f "$bootstrap_file" ]; then
        bootstrap_found=$bootstrap_file
        cp "$bootstrap_file" /etc/sysctl.d/60-rke2-cis.conf
        sysctl -p /etc/sysctl.d/60-rke2-cis.conf
    fi
done
if [ -z "$bootstrap_found" ]; then
    printf 'the RKE2 release has no rke2-cis-sysctl.conf\n'
    exit 1
fi
`

// startService masks the other role's service (an image may have both), starts ours and waits until it reports ready.
// RKE2 ends on some errors that pass, such as a load balancer that does not know a server yet, and systemd then
// starts it again; so a failed start is tried again for five minutes. The sentinel follows, and nothing else may.
func startService(b *strings.Builder, in *Input) {
	unit := "rke2-" + in.Role.service() + ".service"
	other := "rke2-agent.service"
	if in.Role == Worker {
		other = "rke2-server.service"
	}
	step(b, "enable "+unit)
	fmt.Fprintf(b, `systemctl mask %[1]s || true
systemctl daemon-reload
systemctl enable %[2]s
bootstrap_step 'start %[2]s'
bootstrap_retry 60 5 systemctl start %[2]s || {
    bootstrap_code=$?
    journalctl --unit %[2]s --lines 20 --no-pager || true
    exit "$bootstrap_code"
}
`, other, unit)
	rememberSuccess(b, &in.Config.AgentConfig)
	b.WriteString("echo success >\"$bootstrap_sentinel\"\n")
}

func step(b *strings.Builder, name string) {
	fmt.Fprintf(b, "bootstrap_step %s\n", quote(name))
}

// quote makes one word of s for a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// templated tells whether one of the node's own settings holds an expression of cloud-init's instance data, such as
// {{ ds.meta_data.local_hostname }}.
func templated(agent *bootstrapv1.RKE2AgentConfig) bool {
	return len(expressions(agent)) > 0
}

// expressions returns the values of the node's own settings that hold an expression.
func expressions(agent *bootstrapv1.RKE2AgentConfig) []string {
	values := slices.Concat([]string{agent.NodeName}, agent.NodeLabels, agent.NodeTaints)
	if agent.Kubelet != nil {
		values = append(values, agent.Kubelet.ExtraArgs...)
	}
	return slices.DeleteFunc(values, func(v string) bool { return !strings.Contains(v, "{{") })
}
