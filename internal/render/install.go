package render

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// installScriptURL is where RKE2's install script is served (https://docs.rke2.io/install/quickstart).
const installScriptURL = "https://get.rke2.io"

// install puts the release on the machine, if the machine image does not have it installed already. An installation of
// the script's own that broke off does not pass for one: it leaves the mark behind.
func install(b *strings.Builder, in *Input) {
	step(b, "look for RKE2 "+in.Version.String()+" on the machine image")
	fmt.Fprintf(b, `bootstrap_wanted=%s
bootstrap_mark=$0.installing
bootstrap_present=no
if [ ! -e "$bootstrap_mark" ] && [ "$(bootstrap_release)" = "$bootstrap_wanted" ] &&
    systemctl cat rke2-%s.service >/dev/null 2>&1; then
    bootstrap_present=yes
    printf 'it is installed\n'
fi
`, quote(in.Version.String()), in.Role.service())
	if in.Config.AgentConfig.AirGapped {
		installFromImage(b, in)
	} else {
		installFromNetwork(b, in)
	}
}

// installFromNetwork downloads the install script to a file first: a script piped into a shell runs to where the
// connection broke.
func installFromNetwork(b *strings.Builder, in *Input) {
	from := ptr.Deref(in.Config.AgentConfig.Install, bootstrapv1.Install{})
	url := installScriptURL
	if from.ScriptURL != "" {
		url = from.ScriptURL
	}
	fmt.Fprintf(b, `if [ "$bootstrap_present" = no ]; then
bootstrap_step 'download the RKE2 install script'
: >"$bootstrap_mark"
bootstrap_tmp=$(mktemp -d)
bootstrap_retry 10 10 curl -sSfL --retry 5 --retry-delay 5 --connect-timeout 20 --max-time 300 \
    -o "$bootstrap_tmp/install.sh" %[1]s
bootstrap_first=
IFS= read -r bootstrap_first <"$bootstrap_tmp/install.sh" || true
case $bootstrap_first in
'#!'*) ;;
*)
    printf '%%s did not answer with a script\n' %[1]s
    exit 1
    ;;
esac
`, quote(url))
	if from.ScriptChecksum != "" {
		fmt.Fprintf(b, `bootstrap_step 'check the checksum of the RKE2 install script'
printf '%%s  %%s\n' %s "$bootstrap_tmp/install.sh" | sha256sum -c -
`, quote(strings.ToLower(from.ScriptChecksum)))
	}
	step(b, "install RKE2 "+in.Version.String())
	fmt.Fprintf(b, `bootstrap_retry 3 10 env INSTALL_RKE2_VERSION=%s INSTALL_RKE2_TYPE=%s%s \
    sh "$bootstrap_tmp/install.sh"
rm -rf "$bootstrap_tmp" "$bootstrap_mark"
fi
`, quote(in.Version.String()), in.Role.service(), installOptions(&from))
}

// installOptions returns the further variables of the install script, each after a space.
func installOptions(from *bootstrapv1.Install) string {
	var b strings.Builder
	for _, option := range []struct{ name, value string }{
		{"INSTALL_RKE2_ARTIFACT_URL", from.ArtifactURL}, {"INSTALL_RKE2_CHANNEL_URL", from.ChannelURL},
		{"INSTALL_RKE2_METHOD", string(from.Method)},
	} {
		if option.value != "" {
			b.WriteString(" " + option.name + "=" + quote(option.value))
		}
	}
	return b.String()
}

// installFromImage installs from the artifacts of the machine image, after checking them, and makes sure they were
// those of the release that is asked for. Where there is no install script, RKE2 has to be installed already.
func installFromImage(b *strings.Builder, in *Input) {
	fmt.Fprintf(b, `if [ ! -f %[1]s ] && [ "$bootstrap_present" = no ]; then
    printf 'the machine image has no %%s, and the release that is installed is "%%s", not %%s\n' \
        %[1]s "$(bootstrap_release)" "$bootstrap_wanted"
    exit 1
fi
if [ -f %[1]s ]; then
`, airGapScript)
	if sum := in.Config.AgentConfig.AirGappedChecksum; sum != "" {
		step(b, "check the checksum of the artifacts")
		fmt.Fprintf(b, `for bootstrap_file in %s/sha256sum*.txt; do
    printf '%%s  %%s\n' %s "$bootstrap_file" | sha256sum -c -
done
`, airGapDir, quote(strings.ToLower(sum)))
	}
	step(b, "install RKE2 "+in.Version.String()+" from "+airGapDir)
	fmt.Fprintf(b, `: >"$bootstrap_mark"
env INSTALL_RKE2_ARTIFACT_PATH=%s INSTALL_RKE2_TYPE=%s sh %s
if [ "$(bootstrap_release)" != "$bootstrap_wanted" ]; then
    printf 'the artifacts of the machine image are of RKE2 %%s, not %%s\n' "$(bootstrap_release)" "$bootstrap_wanted"
    exit 1
fi
rm -f "$bootstrap_mark"
fi
`, airGapDir, in.Role.service(), airGapScript)
}
