package provider

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const valid = `
name: demo
processes:
- name: demo-manager
  argv: ["${BIN}/demo", "--kubeconfig=${KUBECONFIG}", "--webhook-cert-dir=${CERTDIR}", "--trace=${LOG}-trace"]
  env: {LOG: "${RUNDIR}/x"}
  readyURL: http://${ADDRESS}:9000/readyz
  webhook: {port: 9443, admission: true, conversionGroups: [demo.example.com]}
`

func TestCommandReplacesVariables(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "provider.yaml", valid)
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	argv, env, err := p.Command(p.Processes[0], Variables{Kubeconfig: "/k", RunDir: "/r", Log: "/r/logs/demo", CertDir: "/c", Bin: "/b"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(argv, " "), "/b/demo --kubeconfig=/k --webhook-cert-dir=/c --trace=/r/logs/demo-trace"; got != want {
		t.Errorf("argv %q, want %q", got, want)
	}
	if got, want := strings.Join(env, " "), "LOG=/r/x"; got != want {
		t.Errorf("env %q, want %q", got, want)
	}
	if url, err := p.ReadyURL(p.Processes[0], Variables{Address: "10.77.0.2"}); err != nil || url != "http://10.77.0.2:9000/readyz" {
		t.Errorf("ready URL %q, %v", url, err)
	}
	if _, err := p.ReadyURL(Process{Name: "x", ReadyURL: "${PORT}"}, Variables{}); err == nil || !strings.Contains(err.Error(), "${PORT}") {
		t.Errorf("an unknown variable in the ready URL gave %v", err)
	}
	if _, _, err := p.Command(Process{Name: "x", Argv: []string{"${HOME}"}}, Variables{}); err == nil || !strings.Contains(err.Error(), "${HOME}") {
		t.Errorf("an unknown variable gave %v", err)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, test := range map[string]struct{ content, want string }{
		"unknown field": {"name: a\nprocess: []\n", "unknown field"},
		"no name":       {"processes: []\n", "name is missing"},
		"no argv":       {"name: a\nprocesses: [{name: x}]\n", "processes[0] needs"},
		"name twice":    {"name: a\nprocesses: [{name: x, argv: [a]}, {name: x, argv: [a]}]\n", "is taken"},
		"the lab's own": {"name: a\nprocesses: [{name: etcd, argv: [a]}]\n", "is taken"},
		"bad port":      {"name: a\nprocesses: [{name: x, argv: [a], webhook: {port: 0}}]\n", "is not a port"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "provider.yaml", test.content)
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an empty folder gave %v", err)
	}
}

const crd = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.demo.example.com}
spec:
  group: demo.example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: false}, {name: v2, served: true, storage: true}]
`

const webhook = `---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: thing.demo.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: s, namespace: n, path: /validate-thing}}
`

func TestObjectsPointToTheProcess(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "provider.yaml", valid)
	write(t, dir, "crds/thing.yaml", crd)
	write(t, dir, "webhooks/all.yaml", webhook)
	write(t, dir, "webhooks/more.yaml", strings.ReplaceAll(webhook, "thing.demo", "another.demo"))
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := p.CRDs("10.77.0.1", []byte("CA"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := *crds[0].Spec.Conversion.Webhook.ClientConfig.URL, "https://10.77.0.1:9443/convert"; got != want {
		t.Errorf("conversion at %s, want %s", got, want)
	}
	hooks, err := p.Webhooks("10.77.0.1", []byte("CA"))
	if err != nil {
		t.Fatal(err)
	}
	if len(hooks.Validating) != 1 || len(hooks.Validating[0].Webhooks) != 2 {
		t.Fatalf("got %v, want both files' webhooks in one configuration", hooks.Validating)
	}
	config := hooks.Validating[0]
	if got, want := *config.Webhooks[0].ClientConfig.URL, "https://10.77.0.1:9443/validate-thing"; got != want {
		t.Errorf("webhook at %s, want %s", got, want)
	}
	if config.Name != "demo-validating-webhook-configuration" || config.Webhooks[0].ClientConfig.Service != nil {
		t.Errorf("unexpected configuration %+v", config)
	}
}

func TestAnotherProgramFile(t *testing.T) {
	p := &Provider{Name: "p", Processes: []Process{{Name: "a", Argv: []string{"old", "--x"}}, {Name: "b", Argv: []string{"other"}}}}
	other := p.WithProgram("new")
	if got := other.Processes[0].Argv; !slices.Equal(got, []string{"new", "--x"}) || other.Processes[1].Argv[0] != "other" {
		t.Errorf("got %v", got)
	}
	if p.Processes[0].Argv[0] != "old" {
		t.Error("the provider itself was changed")
	}
	if p.WithProgram("") != p {
		t.Error("no program file is no change")
	}
}
