package render

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// What is promised of bootstrap data is shown for every role, in both formats, installed from the network and from the
// machine image: the bytes, and what machines with both shells do with them when RKE2 comes up, fails, and hangs.

// truthCase is one machine.
type truthCase struct {
	name string
	in   Input
}

func truthCases() []truthCase {
	var cases []truthCase
	for role, input := range map[string]func() Input{"first-server": firstServer, "joining-server": joiningServer, "worker": worker} {
		for _, format := range []bootstrapv1.Format{bootstrapv1.CloudConfig, bootstrapv1.Ignition} {
			for way, airGapped := range map[string]bool{"online": false, "air-gap": true} {
				in := truthInput(input(), format)
				in.Config.AgentConfig.AirGapped = airGapped
				cases = append(cases, truthCase{name: fmt.Sprintf("%s-%s-%s", role, format, way), in: in})
			}
		}
	}
	return cases
}

// truthInput has two private registries with authorities of their own, one that is not verified, and more of the user's.
func truthInput(in Input, format bootstrapv1.Format) Input {
	ref := corev1.ObjectReference{Name: "x"}
	in.Config.AgentConfig.Format = format
	in.Config.AgentConfig.AdditionalUserData.Config = "timezone: Europe/Vienna\n"
	if format == bootstrapv1.Ignition {
		in.Config.AgentConfig.AdditionalUserData.Config = "variant: fcos\nversion: 1.4.0\nstorage:\n  files:\n" +
			"  - path: /etc/localtime.name\n    contents:\n      inline: Europe/Vienna\n"
	}
	in.Config.Files = []bootstrapv1.File{{Path: "/etc/motd", Permissions: "0600", Content: "  {{ hello }}\r\n\t\"it's\"\n"}}
	in.Config.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
		"a.example:5000": {AuthSecret: ref, TLS: bootstrapv1.TLSConfig{TLSConfigSecret: ref}},
		"b.example":      {TLS: bootstrapv1.TLSConfig{TLSConfigSecret: ref}},
		"c.example":      {TLS: bootstrapv1.TLSConfig{InsecureSkipVerify: true}},
	}
	in.Contents.Registries = map[string]RegistrySecrets{
		"a.example:5000": {Username: "u", Password: "hunter2", CA: []byte("a's ca\n"), Cert: []byte("cert\n"), Key: []byte("a's key\n")},
		"b.example":      {CA: []byte("b's ca\n")},
	}
	if in.Role != FirstServer {
		in.JoinAddress = "fd00::10"
	}
	if in.Role != Worker {
		in.AgentToken = "agent t0ken"
	}
	return in
}

func TestTruthGolden(t *testing.T) {
	for _, c := range truthCases() {
		t.Run(c.name, func(t *testing.T) {
			got := mustBootstrap(t, c.in)
			if c.in.Config.AgentConfig.Format == bootstrapv1.Ignition {
				parseIgnition(t, got)
				got = readable(t, got)
			} else {
				parse(t, got)
			}
			compareGolden(t, filepath.Join("truth", c.name), got)
		})
	}
}

// TestTruth boots the machines.
func TestTruth(t *testing.T) {
	for name, shell := range shells(t) {
		for _, c := range truthCases() {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				bootWhole(t, shell, &c.in)
				bootFailing(t, shell, &c.in)
				bootHanging(t, shell, &c.in)
			})
		}
	}
}

// machineOf makes the machine that the data describe.
func machineOf(t *testing.T, shell string, in *Input, programs map[string]string) ignitedMachine {
	t.Helper()
	if in.Config.AgentConfig.Format == bootstrapv1.Ignition {
		return ignite(t, shell, mustBootstrap(t, *in), programs)
	}
	data := mustBootstrap(t, *in)
	var document struct {
		Files    []writeFile `json:"write_files"`
		Commands [][]string  `json:"runcmd"`
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	contents, err := writtenFiles(parse(t, data))
	if err != nil {
		t.Fatal(err)
	}
	m := ignitedMachine{root: t.TempDir(), shell: shell}
	for _, f := range document.Files {
		mode := os.FileMode(0o644)
		if _, err := fmt.Sscanf(f.Permissions, "%o", &mode); err != nil {
			t.Fatalf("%s: %v", f.Path, err)
		}
		if f.Owner != "root:root" {
			t.Errorf("%s belongs to %s", f.Path, f.Owner)
		}
		m.write(t, f.Path, contents[f.Path], mode)
	}
	if len(document.Commands) != 1 {
		t.Fatalf("runcmd: %v", document.Commands)
	}
	// What starts the script is no unit here, but is started like one.
	unit := "ConditionPathExists=!/never\nExecStart=" + strings.Join(document.Commands[0], " ") + "\n"
	m.write(t, filepath.Join(unitDir, unitName), []byte(unit), 0o644)
	m.furnish(t, programs)
	return m
}

// bootWhole has everything work.
func bootWhole(t *testing.T, shell string, in *Input) {
	t.Helper()
	m := machineOf(t, shell, in, stubs())
	got, _ := m.boot(t)
	if got.code != 0 || got.sentinel != "success\n" || got.failure != "" {
		t.Errorf("%+v", got)
	}
	if in.Role != FirstServer && !strings.Contains(m.read(t, configPath), "server: https://[fd00::10]:9345\n") {
		t.Errorf("config.yaml:\n%s", m.read(t, configPath))
	}
	for path, want := range map[string]string{
		"/etc/motd": "  {{ hello }}\r\n\t\"it's\"\n", registriesTLSDir + "/a.example:5000/ca.crt": "a's ca\n",
		registriesTLSDir + "/b.example/ca.crt": "b's ca\n", registriesTLSDir + "/a.example:5000/tls.key": "a's key\n",
	} {
		if got := m.read(t, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	m.checkModes(t)
}

// secretsOfTruth are what nobody but root may read.
var secretsOfTruth = []string{"s3cret", "agent t0ken", "hunter2", "a's key", "server key", "client key", "etcd key", "peer key"}

// checkModes looks through all files of the machine's configuration.
func (m ignitedMachine) checkModes(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(m.root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !strings.HasPrefix(path, m.root+"/etc/") && !strings.HasPrefix(path, m.root+"/var/") {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, secret := range secretsOfTruth {
			if bytes.Contains(content, []byte(secret)) && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has %q and mode %04o", strings.TrimPrefix(path, m.root), secret, info.Mode().Perm())
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// bootFailing has RKE2 fail to start, and on a machine image have the wrong release.
func bootFailing(t *testing.T, shell string, in *Input) {
	t.Helper()
	programs := stubs()
	programs["systemctl"] = `[ "$1" != start ] || { echo no licence; exit 3; }`
	got, _ := machineOf(t, shell, in, programs).boot(t)
	want := "step: start rke2-" + in.Role.service() + ".service\nexit code: 3\n"
	if got.code != 3 || got.sentinel != "" || !strings.HasPrefix(got.failure, want) || !strings.Contains(got.failure, "no licence\n") {
		t.Errorf("%+v", got)
	}
	if !in.Config.AgentConfig.AirGapped {
		return
	}
	programs = stubs()
	programs["rke2"] = `echo "rke2 version v1.30.0+rke2r1 (0123abc)"`
	got, _ = machineOf(t, shell, in, programs).boot(t)
	if got.code != 1 || got.sentinel != "" || !strings.Contains(got.failure, "are of RKE2 v1.30.0+rke2r1, not v1.36.3+rke2r1\n") {
		t.Errorf("%+v", got)
	}
}

// bootHanging looks at the machine while RKE2 starts. There is no sentinel before it has.
func bootHanging(t *testing.T, shell string, in *Input) {
	t.Helper()
	programs := stubs()
	programs["systemctl"] = `[ "$1" != start ] || { echo >/starts; read -r line </goes-on; }`
	m := machineOf(t, shell, in, programs)
	for _, name := range []string{"starts", "goes-on"} {
		if err := syscall.Mkfifo(filepath.Join(m.root, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	booted, starts := make(chan scriptResult, 1), make(chan error, 1)
	go func() {
		got, _ := m.boot(t)
		booted <- got
	}()
	go func() {
		_, err := os.ReadFile(filepath.Join(m.root, "starts"))
		starts <- err
	}()
	select {
	case got := <-booted:
		t.Fatalf("it did not come to start the service: %+v", got)
	case err := <-starts:
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := m.read(t, SentinelPath); got != "" {
		t.Errorf("the sentinel is there before the service has started: %q", got)
	}
	if got, want := m.read(t, stepPath), "start rke2-"+in.Role.service()+".service\n"; got != want {
		t.Errorf("step %q", got)
	}
	if err := os.WriteFile(filepath.Join(m.root, "goes-on"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-booted; got.code != 0 || got.sentinel != "success\n" {
		t.Errorf("%+v", got)
	}
}

// TestUserDataIsMerged shows that the user's own part is there for each role.
func TestUserDataIsMerged(t *testing.T) {
	for _, c := range truthCases() {
		if c.in.Config.AgentConfig.Format == bootstrapv1.CloudConfig {
			if got := parse(t, mustBootstrap(t, c.in))["timezone"]; got != "Europe/Vienna" {
				t.Errorf("%s: %v", c.name, got)
			}
		} else if got := ignitionFilesOf(t, c.in)["/etc/localtime.name"]; !strings.HasSuffix(got, "Europe/Vienna") {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	before := truthInput(worker(), bootstrapv1.CloudConfig)
	stored := before.Config.DeepCopy()
	mustBootstrap(t, before)
	if diff := cmp.Diff(*stored, before.Config); diff != "" {
		t.Errorf("the stored object was changed:\n%s", diff)
	}
}
