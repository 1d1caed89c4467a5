package bootstrap_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

func config(change func(*spec)) *bootstrapv1.RKE2Config {
	c := &bootstrapv1.RKE2Config{ObjectMeta: metav1.ObjectMeta{Namespace: "own"}}
	change(&c.Spec)
	return c
}

func template(change func(*bootstrapv1.RKE2ConfigTemplate)) *bootstrapv1.RKE2ConfigTemplate {
	t := &bootstrapv1.RKE2ConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "own"}}
	change(t)
	return t
}

func crossing(s *spec) { s.AgentConfig.ResolvConf = &elsewhere }

func TestConfig(t *testing.T) {
	const refusal = `spec.agentConfig.resolvConf.namespace: Invalid value: "other"`
	plain := func(*spec) {}
	for name, c := range map[string]struct {
		stored, object *bootstrapv1.RKE2Config
		allowed        bool
		want           want
	}{
		"created":         {object: config(plain)},
		"created, wrong":  {object: config(crossing), want: want{Errors: []string{refusal}}},
		"allowed":         {object: config(crossing), allowed: true},
		"became wrong":    {stored: config(plain), object: config(crossing), want: want{Errors: []string{refusal}}},
		"was wrong":       {stored: config(crossing), object: config(crossing), want: want{Warnings: []string{"not new, therefore not refused: " + refusal}}},
		"was wrong, else": {stored: config(crossing), object: config(func(s *spec) { crossing(s); s.AgentConfig.DataDir = "/d" }), want: want{Warnings: []string{"not new"}}},
		"a constant name": {object: config(func(s *spec) { s.AgentConfig.NodeName = "node-1" })},
	} {
		t.Run(name, func(t *testing.T) {
			findingtest.Check(t, bootstrap.Config(c.stored, c.object, c.allowed), c.want)
		})
	}
}

func TestTemplate(t *testing.T) {
	const refusal = `spec.template.spec.agentConfig.resolvConf.namespace: Invalid value: "other"`
	plain := template(func(*bootstrapv1.RKE2ConfigTemplate) {})
	wrong := template(func(t *bootstrapv1.RKE2ConfigTemplate) { crossing(&t.Spec.Template.Spec) })
	named := func(name string) *bootstrapv1.RKE2ConfigTemplate {
		return template(func(t *bootstrapv1.RKE2ConfigTemplate) { t.Spec.Template.Spec.AgentConfig.NodeName = name })
	}
	for name, c := range map[string]struct {
		stored, object *bootstrapv1.RKE2ConfigTemplate
		want           want
	}{
		"without anything":  {object: plain},
		"wrong":             {object: wrong, want: want{Errors: []string{refusal}}},
		"was wrong":         {stored: wrong, object: wrong, want: want{Warnings: []string{"not new, therefore not refused: " + refusal}}},
		"changed":           {stored: plain, object: template(func(t *bootstrapv1.RKE2ConfigTemplate) { t.Spec.Template.Spec.AgentConfig.DataDir = "/d" })},
		"a name of its own": {object: named("{{ ds.meta_data.local_hostname }}")},
		"one name for all":  {object: named("node-1"), want: want{Warnings: []string{`spec.template.spec.agentConfig.nodeName: "node-1": every machine made from this template asks for this one name, and only one can have it; use a cloud-init variable`}}},
		"labels that cannot": {object: template(func(t *bootstrapv1.RKE2ConfigTemplate) {
			t.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b c"}
		}), want: want{Errors: []string{`spec.template.metadata.labels: Invalid value: "b c"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			findingtest.Check(t, bootstrap.Template(c.stored, c.object, false), c.want)
		})
	}
}

func TestDefault(t *testing.T) {
	for given, want := range map[bootstrapv1.Format]bootstrapv1.Format{
		"": bootstrapv1.CloudConfig, bootstrapv1.CloudConfig: bootstrapv1.CloudConfig, bootstrapv1.Ignition: bootstrapv1.Ignition,
	} {
		var s spec
		s.AgentConfig.Format = given
		bootstrap.Default(&s)
		if s.AgentConfig.Format != want {
			t.Errorf("%q became %q, want %q", given, s.AgentConfig.Format, want)
		}
	}
}
