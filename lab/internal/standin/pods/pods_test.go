package pods

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/standin/config"
	"github.com/drover-project/drover/lab/internal/standin/pki"
)

func node(t *testing.T, settings string) Node {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return Node{
		Config: c, Version: "v1.36.3+rke2r1", IP: "10.0.0.1", MemberName: "s1-0a1b2c3d",
		TLS: pki.Store{Dir: "/data/server/tls"}, EtcdDir: "/data/server/db/etcd",
	}
}

func TestMerge(t *testing.T) {
	for _, test := range []struct {
		name        string
		ours, users []string
		want        string
	}{
		{"added", []string{"--a=1"}, []string{"b=2"}, "--a=1 --b=2"},
		{"replaced", []string{"--a=1", "--b=1"}, []string{"a=2"}, "--b=1 --a=2"},
		{"with dashes", []string{"--a=1"}, []string{"--a=2", "-c"}, "--a=2 --c"},
		{"a longer name is another flag", []string{"--a-b=1"}, []string{"a=2"}, "--a-b=1 --a=2"},
		{"given twice", []string{"--a=1"}, []string{"a=2", "a=3"}, "--a=2 --a=3"},
	} {
		if got := strings.Join(merge(test.ours, test.users), " "); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestEtcd(t *testing.T) {
	n := node(t, "etcd-arg: [heartbeat-interval=100]\netcd-extra-env: [GODEBUG=x=1]\netcd-expose-metrics: true\n")
	command := n.EtcdPod("").Spec.Containers[0].Command
	for _, want := range []string{
		"--initial-cluster=s1-0a1b2c3d=https://10.0.0.1:2380", "--initial-cluster-state=new", "--heartbeat-interval=100",
		"--election-timeout=5000", "--listen-metrics-urls=http://127.0.0.1:2381,http://10.0.0.1:2381",
	} {
		if !slices.Contains(command, want) {
			t.Errorf("%s is missing: %q", want, command)
		}
	}
	if !slices.Contains(n.EtcdPod("").Spec.Containers[0].Env, corev1.EnvVar{Name: "GODEBUG", Value: "x=1"}) {
		t.Error("the extra environment is missing")
	}
	initial := InitialCluster(map[string]string{"s3-3": "https://10.0.0.3:2380", "s2-2": "https://10.0.0.2:2380"}, n.MemberName, n.PeerURL())
	if initial != "s1-0a1b2c3d=https://10.0.0.1:2380,s2-2=https://10.0.0.2:2380,s3-3=https://10.0.0.3:2380" {
		t.Errorf("initial cluster: %s", initial)
	}
	if !slices.Contains(n.EtcdPod(initial).Spec.Containers[0].Command, "--initial-cluster-state=existing") {
		t.Error("a member that joins would start a cluster")
	}
}

// With an external datastore the API server has no etcd of its own.
func TestAPIServerOfAnExternalDatastore(t *testing.T) {
	n := node(t, "datastore-endpoint: https://db-1:2379,https://db-2:2379\ndatastore-cafile: /etc/db/ca.pem\n")
	command := n.APIServerPod().Spec.Containers[0].Command
	for _, want := range []string{"--etcd-servers=https://db-1:2379,https://db-2:2379", "--etcd-cafile=/etc/db/ca.pem"} {
		if !slices.Contains(command, want) {
			t.Errorf("%s is missing: %q", want, command)
		}
	}
	if slices.ContainsFunc(command, func(arg string) bool { return strings.HasPrefix(arg, "--etcd-certfile=") }) {
		t.Errorf("nobody gave it a certificate: %q", command)
	}
}

func TestAPIServerKnowsOnlyItsOwnEtcd(t *testing.T) {
	n := node(t, "audit-policy-file: /etc/audit.yaml\nservice-cidr: 10.96.0.0/16\n")
	container := n.APIServerPod().Spec.Containers[0]
	for _, want := range []string{"--etcd-servers=https://127.0.0.1:2379", "--audit-policy-file=/etc/audit.yaml", "--service-cluster-ip-range=10.96.0.0/16"} {
		if !slices.Contains(container.Command, want) {
			t.Errorf("%s is missing: %q", want, container.Command)
		}
	}
	if container.ReadinessProbe.HTTPGet == nil {
		t.Error("the kubelet does not probe")
	}
}

func TestProbesOfAnAPIServerThatKnowsItsCallers(t *testing.T) {
	n := node(t, "kube-apiserver-arg: [--anonymous-auth=false]\n")
	probe := n.APIServerPod().Spec.Containers[0].ReadinessProbe
	if probe.Exec == nil || !slices.Contains(probe.Exec.Command, "--raw=/readyz") {
		t.Errorf("probe: %+v", probe)
	}
}

func TestManifests(t *testing.T) {
	n := node(t, "")
	dir := Dir(t.TempDir())
	all := []*corev1.Pod{n.EtcdPod(""), n.APIServerPod(), n.ControllerManagerPod(), n.SchedulerPod()}
	for _, pod := range all {
		if err := dir.Write(pod); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(string(dir), pod.Name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var read corev1.Pod
		if err := yaml.UnmarshalStrict(data, &read); err != nil {
			t.Fatal(err)
		}
		if read.Labels["component"] != pod.Name || read.Labels["tier"] != "control-plane" || !read.Spec.HostNetwork ||
			read.Namespace != "kube-system" || read.Spec.PriorityClassName != "system-cluster-critical" {
			t.Errorf("%s: %+v", pod.Name, read)
		}
	}
	for range 2 {
		if err := dir.RemoveAll(); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range all {
		if dir.Has(pod.Name) {
			t.Errorf("%s is still there", pod.Name)
		}
	}
}
