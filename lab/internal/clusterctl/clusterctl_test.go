package clusterctl

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// stub returns a command whose program is a shell script.
func stub(t *testing.T, script string) Command {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "clusterctl")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Command{Binary: binary, Home: filepath.Join(t.TempDir(), "home")}
}

func TestRunKeepsToItsHome(t *testing.T) {
	t.Setenv("KUBECONFIG", "/somebody/elses")
	t.Setenv("HTTPS_PROXY", "http://proxy.invalid")
	c := stub(t, `echo "args $*"; pwd; env; echo words >&2`)
	out := &bytes.Buffer{}
	if err := c.Run(t.Context(), out, Config{}, "move", "--namespace=default"); err != nil {
		t.Fatal(err)
	}
	printed := out.String()
	for _, want := range []string{
		"args move --namespace=default --config=" + c.Home + "/clusterctl.yaml\n", c.Home + "\n", "HOME=" + c.Home + "\n",
		"XDG_CONFIG_HOME=" + c.Home + "/config\n", "CLUSTERCTL_DISABLE_VERSIONCHECK=true\n", "words\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing in\n%s", want, printed)
		}
	}
	for _, unwanted := range []string{"somebody", "proxy.invalid"} {
		if strings.Contains(printed, unwanted) {
			t.Errorf("%q was passed on:\n%s", unwanted, printed)
		}
	}
}

func TestRunFails(t *testing.T) {
	out := &bytes.Buffer{}
	err := stub(t, "echo no such cluster >&2; exit 3").Run(t.Context(), out, Config{}, "move")
	if err == nil || err.Error() != "clusterctl move: exit status 3" || out.String() != "no such cluster\n" {
		t.Errorf("got %v, printed %q", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := stub(t, "exec sleep 60").Run(ctx, out, Config{}, "init"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that hangs gave %v", err)
	}
}

func TestConfigFile(t *testing.T) {
	data, err := Config{
		Providers: []Repository{{Name: "rke2", URL: "/r/v1.0.0/components.yaml", Type: "BootstrapProvider"}},
		Variables: map[string]string{"REPLICAS": "3"},
	}.file()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := yaml.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"REPLICAS":  "3",
		"providers": []any{map[string]any{"name": "rke2", "url": "/r/v1.0.0/components.yaml", "type": "BootstrapProvider"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
