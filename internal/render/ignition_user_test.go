package render

import (
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/google/go-cmp/cmp"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

const fcos = "variant: fcos\nversion: 1.4.0\n"

// withUserConfig is a worker with a config of the user's.
func withUserConfig(config string) Input {
	in := ignited(worker())
	in.Config.Files = []bootstrapv1.File{{Path: "/etc/mine", Content: "x"}}
	in.Config.AgentConfig.AdditionalUserData.Config = config
	return in
}

func TestIgnitionUserConfig(t *testing.T) {
	for name, text := range map[string]string{
		"Butane": butaneConfig,
		"Ignition": `{"ignition": {"version": "3.1.0"}, "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA"]}]},
			"storage": {"files": [{"path": "/etc/hello", "contents": {"source": "data:,hi%0A"}}]},
			"systemd": {"units": [{"name": "rke2-install.service", "dropins": [{"name": "10-after.conf", "contents": "[Unit]\nAfter=hello.service\n"}]}]}}`,
		"Flatcar": strings.Replace(butaneConfig, fcos, "variant: flatcar\nversion: 1.0.0\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			config := parseIgnition(t, mustBootstrap(t, withUserConfig(text)))
			if users := config.Passwd.Users; len(users) != 1 || users[0].Name != "core" || len(users[0].SSHAuthorizedKeys) != 1 {
				t.Errorf("users: %+v", users)
			}
			found := ""
			for _, f := range config.Storage.Files {
				if f.Path == "/etc/hello" {
					found = string(contentOf(t, &f.Contents))
				}
			}
			if found != "hi\n" {
				t.Errorf("/etc/hello: %q", found)
			}
			unit := bootstrapUnit()
			contents := "[Unit]\nAfter=hello.service\n"
			unit.Dropins = []types.Dropin{{Name: "10-after.conf", Contents: &contents}}
			if diff := cmp.Diff([]types.Unit{unit}, config.Systemd.Units); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff("3.3.0", config.Ignition.Version); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnitionRefusesUserConfig(t *testing.T) {
	for want, text := range map[string]string{
		"is neither the YAML of Butane nor the JSON": "- hunter2",
		"has no variant, which a Butane config":      "users: [hunter2]",
		"No translator exists for variant fcos":      "variant: fcos\nversion: 9.9.9\n",
		"a value has a type that Butane does not":    fcos + "storage: hunter2",
		"Ignition other than 3.0 to 3.3.0":           "variant: fcos\nversion: 1.5.0\n",
		"other than 3.0 to 3.3.0: use one":           `{"ignition": {"version": "3.4.0"}}`,
		"error at line":                              `{"ignition": {"version": "3.3.0"}, hunter2}`,
		"ignition.config.replace would replace":      fcos + "ignition: {config: {replace: {source: 'https://example/x'}}}",
		"local file paths are relative to":           fcos + "storage: {files: [{path: /a, contents: {local: hunter2}}]}",
		"$.storage.files.0.path":                     fcos + "storage: {files: [{path: hunter2}]}",
		"$.systemd.units.0.contents":                 fcos + "systemd: {units: [{name: a.service, contents: \"[hunter2\\nhunter2\\n\"}]}",
		"$.storage.files.0.contents.source":          fcos + "storage: {files: [{path: /a, contents: {source: 'data:hunter2;hunter2'}}]}",
		"$.storage.files.1.contents.source":          fcos + "storage: {files: [{path: /a}, {path: /b, contents: {source: 'hunter2://hunter2'}}]}",
		"$.systemd.units.0.name":                     fcos + "systemd: {units: [{name: hunter2}]}",
		": /etc/rancher/rke2/config.yaml is written by the provider itself or by files": fcos +
			"storage: {files: [{path: /etc/rancher/rke2/config.yaml, contents: {inline: hunter2}}]}",
		": /etc/mine is written":                  fcos + "storage: {files: [{path: /etc/mine, append: [{inline: hunter2}]}]}",
		": /etc/rancher/rke2/bootstrap.sh is wri": fcos + "storage: {directories: [{path: /etc/rancher/rke2/bootstrap.sh}]}",
		": /etc/rancher has to be a folder, beca": fcos + "storage: {links: [{path: /etc/rancher, target: /opt}]}",
		": /etc/rancher/rke2 has to be a folder, ": fcos +
			"storage: {files: [{path: /etc/rancher/rke2, contents: {inline: hunter2}}]}",
		": /etc/systemd/system/rke2-install.service is written": fcos + "systemd: {units: [{name: rke2-install.service, mask: true}]}",
	} {
		_, err := Bootstrap(withUserConfig(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), userConfigField) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error repeats the config: %v", err)
		}
	}
}

// TestIgnitionOwnDropIn has a drop-in in the place of the file that sets the kubelet's environment.
func TestIgnitionOwnDropIn(t *testing.T) {
	in := withUserConfig(fcos + "systemd: {units: [{name: rke2-agent.service, dropins: [{name: 50-kubelet-environment.conf}]}]}")
	if _, err := Bootstrap(in); err != nil {
		t.Errorf("without an environment of the kubelet: %v", err)
	}
	in.Config.AgentConfig.Kubelet = &bootstrapv1.ComponentConfig{ExtraEnv: map[string]string{"A": "b"}}
	const want = "/etc/systemd/system/rke2-agent.service.d/50-kubelet-environment.conf is written"
	if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestIgnitionStrict(t *testing.T) {
	in := withUserConfig(fcos + "no_such_key: hunter2\n")
	in.Config.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "[]"}
	out, err := Bootstrap(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Warnings) != 2 || !strings.Contains(out.Warnings[1], "no_such_key") || strings.Contains(out.Warnings[1], "hunter2") {
		t.Errorf("%q", out.Warnings)
	}
	in.Config.AgentConfig.AdditionalUserData.Strict = true
	if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), "no_such_key") {
		t.Errorf("strict: %v", err)
	}
}
