package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// load writes files, by path below the configuration folder, and loads them.
func load(t *testing.T, files map[string]string) (Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(dir)
}

func TestNoFileIsTheDefaults(t *testing.T) {
	c, err := load(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct{ name, got, want string }{
		{"data-dir", c.DataDir(), "/var/lib/rancher/rke2"},
		{"cluster-cidr", c.ClusterCIDR(), "10.42.0.0/16"},
		{"service-cidr", c.ServiceCIDR(), "10.43.0.0/16"},
		{"cluster-dns", c.ClusterDNS(), "10.43.0.10"},
		{"cluster-domain", c.ClusterDomain(), "cluster.local"},
		{"server", c.String("server"), ""},
	} {
		if check.got != check.want {
			t.Errorf("%s: got %q, want %q", check.name, check.got, check.want)
		}
	}
}

func TestLaterFilesWinAndPlusAppends(t *testing.T) {
	c, err := load(t, map[string]string{
		"config.yaml":             "token: 12345678\nnode-label: [a=1]\ntls-san: one\ncluster-domain: first\n",
		"config.yaml.d/10-a.yaml": "cluster-domain: second\nnode-label+: [b=2]\n",
		"config.yaml.d/20-b.yaml": "cluster-domain: third\ntls-san: [two, 'three,four']\netcd-expose-metrics: true\n",
		"config.yaml.d/30-c.txt":  "cluster-domain: ignored\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ClusterDomain(); got != "third" {
		t.Errorf("cluster-domain: %q", got)
	}
	if got := c.String("token"); got != "12345678" {
		t.Errorf("a token of digits became %q", got)
	}
	if got := c.List("node-label"); !slices.Equal(got, []string{"a=1", "b=2"}) {
		t.Errorf("node-label: %q", got)
	}
	if got := c.List("tls-san"); !slices.Equal(got, []string{"two", "three", "four"}) {
		t.Errorf("tls-san: %q", got)
	}
	if !c.Bool("etcd-expose-metrics") || c.Bool("disable-scheduler") {
		t.Error("switches are wrong")
	}
}

func TestArgumentsKeepTheirCommas(t *testing.T) {
	c, err := load(t, map[string]string{"config.yaml": "kube-apiserver-arg: [\"feature-gates=A=true,B=false\"]\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.List("kube-apiserver-arg"); !slices.Equal(got, []string{"feature-gates=A=true,B=false"}) {
		t.Errorf("got %q", got)
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"unknown key", "tls-sans: [a]\n", `unknown key "tls-sans"`},
		{"cluster-init is not RKE2's", "cluster-init: true\n", `unknown key "cluster-init"`},
		{"not a map", "- a\n", "is not a YAML map"},
		{"key twice", "token: a\ntoken: b\n", "with every key once"},
		{"map as value", "node-label: {a: b}\n", `key "node-label": must not be a map`},
		{"list of lists", "node-label: [[a]]\n", `key "node-label": must not be a list of lists`},
		{"two values for one", "server: [https://a:9345, https://b:9345]\n", `key "server": takes one value, not 2`},
		{"not a boolean", "etcd-expose-metrics: perhaps\n", `key "etcd-expose-metrics": "perhaps" is not a boolean`},
		{"not a number", "etcd-snapshot-retention: many\n", `key "etcd-snapshot-retention": "many" is not a number`},
		{"not a URL", "server: 10.0.0.1:9345\n", `key "server": "10.0.0.1:9345" is not an https:// URL`},
		{"not an address", "node-ip: here\n", `key "node-ip": "here" is not an IP address`},
		{"not a range", "service-cidr: 10.43.0.0\n", `key "service-cidr": "10.43.0.0" is not an address range`},
		{"not in the lab", "disable-etcd: true\n", `key "disable-etcd": the lab's stand-in for RKE2 cannot do this`},
		{"a database that is no etcd", "datastore-endpoint: mysql://x\n", `key "datastore-endpoint": the lab's stand-in for RKE2 can use an etcd only`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := load(t, map[string]string{"config.yaml": test.file})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestErrorsHoldNoSecret(t *testing.T) {
	_, err := load(t, map[string]string{"config.yaml": "token: s3cret\n  broken: s3cret\n"})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("got %v", err)
	}
}

func TestSwitchedOffIsAllowed(t *testing.T) {
	if _, err := load(t, map[string]string{"config.yaml": "disable-etcd: false\n"}); err != nil {
		t.Error(err)
	}
}

func TestCriticalHoldsNoSecret(t *testing.T) {
	c, err := load(t, map[string]string{"config.yaml": "agent-token: s3cret\nservice-cidr: 10.96.0.0/16\n"})
	if err != nil {
		t.Fatal(err)
	}
	critical := c.Critical()
	if critical["cluster-dns"] != "10.96.0.10" {
		t.Errorf("cluster-dns: %q", critical["cluster-dns"])
	}
	if token := critical["agent-token"]; token == "" || strings.Contains(token, "s3cret") {
		t.Errorf("agent-token: %q", token)
	}
}
