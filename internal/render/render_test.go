package render

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden pins every byte of the documents.
func TestGolden(t *testing.T) {
	for name, in := range map[string]Input{
		"first-server":   firstServer(),
		"joining-server": joiningServer(),
		"worker":         worker(),
		"everything":     everything(),
		"air-gapped":     airGapped(),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Bootstrap(in)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name, out.Data)
			again, err := Bootstrap(in)
			if err != nil || !bytes.Equal(again.Data, out.Data) {
				t.Errorf("the same input gave other bytes (%v)", err)
			}
			parse(t, out.Data)
		})
	}
}

// compareGolden compares a document with the file of that name in testdata, or writes the file anew.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("not as in %s (run with -update to accept):\n%s", golden, diff)
	}
}

func TestRoles(t *testing.T) {
	first, joining, agent := nodeConfig(t, firstServer()), nodeConfig(t, joiningServer()), nodeConfig(t, worker())

	want := map[string]any{
		"token": "s3cret", "cluster-cidr": "10.45.0.0/16", "service-cidr": "10.46.0.0/16",
		"cluster-domain": "cluster.local", "tls-san": []any{"10.77.0.10"}, "disable-cloud-controller": true,
		"kube-apiserver-arg": []any{"--anonymous-auth=true"},
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first server:\n%s", diff)
	}
	want["server"] = "https://10.77.0.10:9345"
	if diff := cmp.Diff(want, joining); diff != "" {
		t.Errorf("joining server:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"token": "s3cret", "server": "https://[fd00::10]:9345"}, agent); diff != "" {
		t.Errorf("worker:\n%s", diff)
	}
}

func TestCAFiles(t *testing.T) {
	in := firstServer()
	in.Config.AgentConfig.DataDir = "/data/rke2"
	files := filesOf(t, in)
	for path, want := range map[string]writeFile{
		"/data/rke2/server/tls/server-ca.crt":      {Permissions: "0644", Content: "server cert\n"},
		"/data/rke2/server/tls/server-ca.key":      {Permissions: "0600", Content: "server key\n"},
		"/data/rke2/server/tls/client-ca.crt":      {Permissions: "0644", Content: "client cert\n"},
		"/data/rke2/server/tls/client-ca.key":      {Permissions: "0600", Content: "client key\n"},
		"/data/rke2/server/tls/etcd/server-ca.crt": {Permissions: "0644", Content: "etcd cert\n"},
		"/data/rke2/server/tls/etcd/server-ca.key": {Permissions: "0600", Content: "etcd key\n"},
		"/data/rke2/server/tls/etcd/peer-ca.crt":   {Permissions: "0644", Content: "peer cert\n"},
		"/data/rke2/server/tls/etcd/peer-ca.key":   {Permissions: "0600", Content: "peer key\n"},
	} {
		want.Path, want.Owner = path, "root:root"
		if diff := cmp.Diff(want, files[path]); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	for path := range filesOf(t, joiningServer()) {
		if strings.Contains(path, "/server/tls/") {
			t.Errorf("a joining server gets %s", path)
		}
	}
}

func TestDomainOfServersWins(t *testing.T) {
	in := firstServer()
	in.Server.ClusterDomain = "example.internal"
	if got := nodeConfig(t, in)["cluster-domain"]; got != "example.internal" {
		t.Errorf("cluster-domain: %v", got)
	}
}

func TestNoEmptySAN(t *testing.T) {
	in := firstServer()
	in.Cluster.EndpointHost = ""
	in.Server.TLSSan = []string{"", "a.example", "a.example"}
	if diff := cmp.Diff([]any{"a.example"}, nodeConfig(t, in)["tls-san"]); diff != "" {
		t.Error(diff)
	}
	in.Server.TLSSan = nil
	if got, ok := nodeConfig(t, in)["tls-san"]; ok {
		t.Errorf("tls-san: %v", got)
	}
}

func TestGzip(t *testing.T) {
	plain, err := Bootstrap(worker())
	if err != nil {
		t.Fatal(err)
	}
	in := worker()
	in.Config.GzipUserData = ptr.To(true)
	out, err := Bootstrap(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(out.Data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, plain.Data) {
		t.Errorf("unpacked data differ (%v)", err)
	}
}

func TestRefuses(t *testing.T) {
	for want, change := range map[string]func(*Input){
		"the token is empty":                       func(in *Input) { in.Token = "" },
		"the version is empty":                     func(in *Input) { in.Version = version.Version{} },
		"needs the certificate authorities":        func(in *Input) { in.CAs = nil },
		"joins no other server":                    func(in *Input) { in.JoinAddress = "1.2.3.4" },
		"needs the address of a server":            func(in *Input) { in.Role, in.CAs = JoiningServer, nil },
		"only the first server":                    func(in *Input) { in.Role, in.JoinAddress = Worker, "1.2.3.4" },
		"unknown role":                             func(in *Input) { in.Role = 0 },
		"agentConfig.format \"x\" is unknown; use": func(in *Input) { in.Config.AgentConfig.Format = "x" },
		"files[0] (/a): permissions \"rw\" is not": func(in *Input) { in.Config.Files = []bootstrapv1.File{{Path: "/a", Permissions: "rw"}} },
		"files[0]: path \"a\" is not absolute":     func(in *Input) { in.Config.Files = []bootstrapv1.File{{Path: "a"}} },
		"files[0] (/a): the content of contentFrom": func(in *Input) {
			in.Config.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: &bootstrapv1.FileSource{}}}
		},
		"config.yaml is written by the provider":  func(in *Input) { in.Config.Files = []bootstrapv1.File{{Path: configPath}} },
		"additionalUserData.config is not a YAML": func(in *Input) { in.Config.AgentConfig.AdditionalUserData.Config = "- hunter2" },
		"additionalUserData.data[\"users\"] is not": func(in *Input) {
			in.Config.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "{hunter2"}
		},
		"bytes, 1048576 are possible: set gzip": func(in *Input) {
			in.Config.Files = []bootstrapv1.File{{Path: "/a", Content: strings.Repeat("x", MaxSize)}}
		},
	} {
		in := firstServer()
		change(&in)
		_, err := Bootstrap(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("the error holds a secret: %v", err)
		}
	}
}

func TestAdditionalUserData(t *testing.T) {
	in := worker()
	in.Config.AgentConfig.AdditionalUserData.Config = "users:\n- name: capv\nruncmd: [reboot]\nwrite_files: []\n"
	got := parse(t, mustBootstrap(t, in))
	if diff := cmp.Diff([]any{map[string]any{"name": "capv"}}, got["users"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{[]any{"/bin/sh", ScriptPath}}, got["runcmd"]); diff != "" {
		t.Error(diff)
	}
	in.Config.AgentConfig.AdditionalUserData = bootstrapv1.AdditionalUserData{
		Data: map[string]string{"disk_setup": "x: {size: 1}", "ntp": "enabled: false"},
	}
	got = parse(t, mustBootstrap(t, in))
	if diff := cmp.Diff(map[string]any{"x": map[string]any{"size": 1.0}}, got["disk_setup"]); diff != "" {
		t.Error(diff)
	}
	if _, ok := got["ntp"]; ok {
		t.Error("ntp was taken from the user data")
	}
}

func TestWarnings(t *testing.T) {
	in := worker()
	in.Config.AgentConfig.Kubelet = &bootstrapv1.ComponentConfig{
		ExtraMounts: map[string]string{"/a": "/a"}, OverrideImage: "x",
	}
	in.Config.AgentConfig.AirGappedChecksum = "00"
	out, err := Bootstrap(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Warnings) != 3 {
		t.Errorf("%q", out.Warnings)
	}
}

func mustBootstrap(t *testing.T, in Input) []byte {
	t.Helper()
	out, err := Bootstrap(in)
	if err != nil {
		t.Fatal(err)
	}
	return out.Data
}

// parse reads a cloud-config again, and every YAML document in its files.
func parse(t *testing.T, data []byte) map[string]any {
	t.Helper()
	document := map[string]any{}
	if err := yaml.UnmarshalStrict(data, &document); err != nil {
		t.Fatalf("the cloud-config is not YAML: %v", err)
	}
	files := document["write_files"].([]any)
	seen := map[string]bool{}
	for _, f := range files {
		item := f.(map[string]any)
		path := item["path"].(string)
		if seen[path] {
			t.Errorf("%s is written twice", path)
		}
		seen[path] = true
		if item["encoding"] == nil && (strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".json")) {
			var inner any
			if err := yaml.UnmarshalStrict([]byte(item["content"].(string)), &inner); err != nil {
				t.Errorf("%s is not YAML: %v", path, err)
			}
		}
	}
	return document
}

func filesOf(t *testing.T, in Input) map[string]writeFile {
	t.Helper()
	var document struct {
		Files []writeFile `json:"write_files"`
	}
	if err := yaml.Unmarshal(mustBootstrap(t, in), &document); err != nil {
		t.Fatal(err)
	}
	files := map[string]writeFile{}
	for _, f := range document.Files {
		files[f.Path] = f
	}
	return files
}

func nodeConfig(t *testing.T, in Input) map[string]any {
	t.Helper()
	config := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(filesOf(t, in)[configPath].Content), &config); err != nil {
		t.Fatal(err)
	}
	return config
}
