package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/machine"
)

// patience bounds every wait: a start takes some ten seconds on an idle computer.
const patience = 4 * time.Minute

// cluster is a set of machines under test.
type cluster struct {
	t       *testing.T
	manager *machine.Manager
	dir     string
	kube    string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("boots machines")
	}
	kube, err := filepath.Abs("../../../bin/kube")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kube); err != nil {
		t.Skip("needs bin/kube: make build")
	}
	dir, err := os.MkdirTemp("", "lab-standin-")
	if err != nil {
		t.Fatal(err)
	}
	manager, err := machine.NewManager(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, manager: manager, dir: dir, kube: kube}
	t.Cleanup(func() {
		manager.Close()
		if os.Getenv("LAB_KEEP") != "" {
			t.Logf("disks are kept in %s", dir)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

// boot starts a server or an agent, which must come up.
func (c *cluster) boot(name, kind, config string) machine.Info {
	c.t.Helper()
	started := time.Now()
	info := c.run(name, kind, config)
	if info.Boot.State != guest.BootSucceeded {
		c.t.Fatalf("%s: %+v\n%s", name, info.Boot, c.log(name))
	}
	c.t.Logf("%s is up after %.1f s", name, time.Since(started).Seconds())
	return info
}

// run starts a machine that becomes a server or an agent with the given
// config.yaml, and waits until its user data is worked off.
func (c *cluster) run(name, kind, config string) machine.Info {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	userData := fmt.Sprintf("#cloud-config\nwrite_files:\n- {path: /etc/rancher/rke2/config.yaml, content: %q}\nruncmd:\n"+
		"- curl -sfL https://get.rke2.io | INSTALL_RKE2_TYPE=%s INSTALL_RKE2_VERSION=v1.36.3+rke2r1 sh -\n- systemctl start rke2-%s\n", config, kind, kind)
	if _, err := c.manager.Boot(ctx, machine.Spec{
		Name: name, Cluster: "c1", Role: machine.ControlPlane, BootstrapData: []byte(userData),
		ProviderID: "lab://c1/" + name, LabBinary: self, KubeBinary: c.kube,
	}); err != nil {
		c.t.Fatal(err)
	}
	for info := range c.manager.Watch(ctx) {
		if info.Name == name && info.Boot.State != guest.BootPending {
			return info
		}
	}
	c.t.Fatalf("%s did not start in time\n%s", name, c.log(name))
	return machine.Info{}
}

// log is the end of a machine's service log.
func (c *cluster) log(name string) string {
	files, _ := filepath.Glob(filepath.Join(c.dir, "machines", name, "var/log/rke2-*.log"))
	var all strings.Builder
	for _, file := range files {
		data, _ := os.ReadFile(file)
		all.Write(data[max(0, len(data)-4000):])
	}
	return all.String()
}

// kubectl runs a command with the administrator's credentials on a server.
func (c *cluster) kubectl(server string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	argv := append([]string{"/var/lib/rancher/rke2/bin/kubectl", "--kubeconfig=/etc/rancher/rke2/rke2.yaml"}, args...)
	result, err := c.manager.Exec(ctx, server, argv, nil)
	if err != nil {
		return "", err
	}
	if result.Code != 0 {
		return "", fmt.Errorf("kubectl %s: exit code %d: %s", strings.Join(args, " "), result.Code, result.Stderr)
	}
	return string(result.Stdout), nil
}

func (c *cluster) must(server string, args ...string) string {
	c.t.Helper()
	out, err := c.kubectl(server, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// nodes lists the cluster's Nodes by name, through a server.
func (c *cluster) nodes(server string) (map[string]corev1.Node, error) {
	out, err := c.kubectl(server, "get", "nodes", "-o", "json")
	if err != nil {
		return nil, err
	}
	var list corev1.NodeList
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, err
	}
	nodes := map[string]corev1.Node{}
	for _, node := range list.Items {
		nodes[node.Name] = node
	}
	return nodes, nil
}

// eventually waits until check returns "", and fails with what it returned last.
func (c *cluster) eventually(what string, check func() string) {
	c.t.Helper()
	started := time.Now()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		problem := check()
		if problem == "" {
			c.t.Logf("%s after %.1f s", what, time.Since(started).Seconds())
			return
		}
		if time.Since(started) > patience {
			c.t.Fatalf("%s: %s", what, problem)
		}
		<-tick.C
	}
}

func condition(node corev1.Node, kind corev1.NodeConditionType) corev1.ConditionStatus {
	for _, c := range node.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

func (c *cluster) ready(server string, names ...string) func() string {
	return func() string {
		nodes, err := c.nodes(server)
		if err != nil {
			return err.Error()
		}
		for _, name := range names {
			if node := nodes[name]; condition(node, corev1.NodeReady) != corev1.ConditionTrue {
				return "Node " + name + " is not ready"
			}
		}
		return ""
	}
}

// members are etcd's members as the supervisor lists them.
func (c *cluster) members(server string) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	result, err := c.manager.Exec(ctx, server, []string{"curl", "-sk", "-u", "server:secret", "https://127.0.0.1:9345/db/info"}, nil)
	if err != nil {
		return err.Error()
	}
	return string(result.Stdout)
}
