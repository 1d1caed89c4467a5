package incumbent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/cloudinit"
)

// read takes bootstrap data apart as a machine does, and returns its files by path.
func read(t *testing.T, n node) (cloudinit.Config, map[string]cloudinit.File) {
	t.Helper()
	data, err := bootstrapData(n)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), "## template: jinja\n#cloud-config\n") {
		t.Errorf("begins with %.60q", data)
	}
	if files, commands := strings.Index(string(data), "\nwrite_files:"), strings.Index(string(data), "\nruncmd:"); files < 0 || commands < files {
		t.Errorf("write_files at %d, runcmd at %d: files come first", files, commands)
	}
	config, err := cloudinit.Parse(data, "host")
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]cloudinit.File{}
	for _, f := range config.Files {
		byPath[f.Path] = f
	}
	return config, byPath
}

func TestBootstrapDataOfServers(t *testing.T) {
	authorities, err := newAuthorities()
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]any{"token": "t0ken", "cni": []string{"none"}}
	config, files := read(t, node{role: server, version: "v1.36.3+rke2r1", settings: settings, authorities: authorities})
	if len(config.Ignored) > 0 {
		t.Errorf("unknown keys %v", config.Ignored)
	}
	var order []string
	for _, f := range config.Files {
		order = append(order, fmt.Sprintf("%s %s %#o", strings.TrimPrefix(f.Path, authorityFolder+"/"), f.Owner, f.Mode))
	}
	want := []string{
		"/etc/rancher/rke2/registries.yaml root:root 0640",
		"server-ca.crt root:root 0640", "server-ca.key root:root 0600",
		"client-ca.crt root:root 0640", "client-ca.key root:root 0600",
		"etcd/peer-ca.crt root:root 0640", "etcd/peer-ca.key root:root 0600",
		"etcd/server-ca.crt root:root 0640", "etcd/server-ca.key root:root 0600",
		"/etc/rancher/rke2/config.yaml root:root 0640",
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
	for _, a := range authorities {
		if string(files[a.CertFile].Content) != string(a.KeyPair.Cert) || string(files[a.KeyFile].Content) != string(a.KeyPair.Key) {
			t.Errorf("the files of authority %s do not hold it", a.Purpose)
		}
	}
	var got map[string]any
	if err := yaml.Unmarshal(files["/etc/rancher/rke2/config.yaml"].Content, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"token": "t0ken", "cni": []any{"none"}}, got); diff != "" {
		t.Error(diff)
	}

	_, files = read(t, node{role: server, version: "v1.36.3+rke2r1", settings: settings})
	if len(files) != 2 {
		t.Errorf("a joining server gets %d files", len(files))
	}
}

func TestCommands(t *testing.T) {
	for r, want := range map[role][]string{
		server: {
			"curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36.3+rke2r1 sh -s - server",
			"systemctl mask rke2-agent.service || true",
			"systemctl enable rke2-server.service", "systemctl start rke2-server.service",
		},
		agent: {
			`curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=v1.36.3+rke2r1 INSTALL_RKE2_TYPE="agent" sh -s -`,
			"systemctl mask rke2-server.service || true",
			"systemctl enable rke2-agent.service", "systemctl start rke2-agent.service",
		},
	} {
		config, _ := read(t, node{role: r, version: "v1.36.3+rke2r1", settings: map[string]any{}})
		var got []string
		for _, c := range config.Commands {
			got = append(got, string(c))
		}
		// The sentinel depends on nothing before it.
		want = append(slices.Clone(want), "mkdir -p /run/cluster-api", "echo success > /run/cluster-api/bootstrap-success.complete")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", r, diff)
		}
	}
}
