package standin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

func TestThreeServersAndAnAgent(t *testing.T) {
	c := newCluster(t)
	first := c.boot("s1", "server", "token: secret\nagent-token: other\ntls-san: [lab.test]\n")
	c.eventually("s1 is ready", c.ready("s1", "s1"))
	nodes, err := c.nodes("s1")
	if err != nil {
		t.Fatal(err)
	}
	node := nodes["s1"]
	for _, check := range []struct{ what, got, want string }{
		{"provider ID", node.Spec.ProviderID, "lab://c1/s1"},
		{"version", node.Status.NodeInfo.KubeletVersion, "v1.36.3+rke2r1"},
		{"control-plane label", node.Labels[labelControlPlane], "true"},
		{"etcd label", node.Labels[labelEtcd], "true"},
		{"address annotation", node.Annotations[annotationAddress], first.IP.String()},
	} {
		if check.got != check.want {
			t.Errorf("%s of s1: got %q, want %q", check.what, check.got, check.want)
		}
	}
	if name := node.Annotations[annotationName]; !strings.HasPrefix(name, "s1-") || len(name) != len("s1-")+8 {
		t.Errorf("member name: %q", name)
	}

	join := fmt.Sprintf("server: https://%s:9345\n", first.IP)
	c.boot("s2", "server", join+"token: secret\nagent-token: other\n")
	// The full form of the token pins the authority.
	ca, err := os.ReadFile(filepath.Join(c.dir, "machines/s1/var/lib/rancher/rke2/server/tls/server-ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	c.boot("s3", "server", join+"token: "+supervisor.Token{User: "server", Password: "secret"}.Full(ca)+"\nagent-token: other\n")
	c.boot("w1", "agent", join+"token: other\n")
	c.eventually("all are ready", c.ready("s1", "s1", "s2", "s3", "w1"))
	c.eventually("all servers are known as voters", func() string {
		nodes, err := c.nodes("s1")
		if err != nil {
			return err.Error()
		}
		for _, name := range []string{"s1", "s2", "s3"} {
			if condition(nodes[name], conditionVoter) != corev1.ConditionTrue {
				return name + " has no condition " + string(conditionVoter)
			}
		}
		return ""
	})
	c.eventually("mirror pods are there", func() string {
		names := c.must("s2", "get", "pods", "-n", "kube-system", "-o", "name")
		for _, want := range []string{"etcd-s3", "kube-apiserver-s3", "kube-controller-manager-s3", "kube-scheduler-s3"} {
			if !strings.Contains(names, "pod/"+want+"\n") {
				return want + " is missing"
			}
		}
		return ""
	})

	t.Run("who does not fit is refused", func(t *testing.T) { c.refuse(join) })
	t.Run("the service restarts without its pods", func(t *testing.T) { c.restart("s2") })
	t.Run("the annotation removes a member", func(t *testing.T) { c.removeByAnnotation("s1", "s2") })
}

// refuse makes sure that servers end at once which must not join.
func (c *cluster) refuse(join string) {
	for _, test := range []struct{ name, settings, want string }{
		{"x1", "token: secret\nagent-token: other\ncluster-domain: other.local\n", "critical configuration value mismatch"},
		{"x2", "token: wrong\nagent-token: other\n", "the server refused the token"},
		{"x3", "token: K10abc::server:secret\nagent-token: other\n", "token CA hash does not match"},
		{"x4", "token: secret\nagent-token: other\nnode-name: s1\n", "duplicate node name found"},
	} {
		if info := c.run(test.name, "server", join+test.settings); info.Boot.State != guest.BootFailed {
			c.t.Errorf("%s was not refused: %+v", test.name, info.Boot)
		}
		if log := c.log(test.name); !strings.Contains(log, test.want) {
			c.t.Errorf("%s: %q is missing in its log:\n%s", test.name, test.want, log)
		}
		if err := c.manager.Kill(test.name); err != nil {
			c.t.Error(err)
		}
	}
}

// restart makes sure that a restart of the service leaves etcd's process alone.
func (c *cluster) restart(server string) {
	pid := func() string {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
		defer cancel()
		result, err := c.manager.Exec(ctx, server, []string{"pgrep", "-f", "sbin/kube etcd"}, nil)
		if err != nil {
			c.t.Fatal(err)
		}
		return string(result.Stdout)
	}
	before := pid()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if result, err := c.manager.Exec(ctx, server, []string{"systemctl", "restart", "rke2-server"}, nil); err != nil || result.Code != 0 {
		c.t.Fatalf("restart: %v %+v", err, result)
	}
	if after := pid(); after != before || before == "" {
		c.t.Errorf("etcd was process %q and is %q", before, after)
	}
	c.eventually(server+" is ready again", c.ready(server, server))
}

func (c *cluster) removeByAnnotation(via, victim string) {
	c.must(via, "annotate", "node", victim, annotationRemove+"=true")
	c.eventually("the member is gone", func() string {
		if members := c.members(via); strings.Contains(members, `"`+victim+"-") || !strings.Contains(members, `"`+via+"-") {
			return "members: " + members
		}
		return ""
	})
	c.eventually("the removal is recorded", func() string {
		nodes, err := c.nodes(via)
		if err != nil {
			return err.Error()
		}
		if annotations := nodes[victim].Annotations; annotations[annotationRemoved] == "" || annotations[annotationName] != "" {
			return fmt.Sprint("annotations: ", annotations)
		}
		return ""
	})
	c.eventually("the static pods are taken down", func() string {
		left, err := filepath.Glob(filepath.Join(c.dir, "machines", victim, "var/lib/rancher/rke2/agent/pod-manifests/*.yaml"))
		if err != nil || len(left) > 0 {
			return fmt.Sprint("left: ", left, err)
		}
		return ""
	})
	if err := c.manager.Kill(victim); err != nil {
		c.t.Fatal(err)
	}
	c.must(via, "delete", "node", victim)
}
