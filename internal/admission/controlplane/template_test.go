package controlplane

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

func TestValidateTemplate(t *testing.T) {
	type (
		template = controlplanev1.RKE2ControlPlaneTemplate
		settings = controlplanev1.RKE2ControlPlaneTemplateResourceSpec
	)
	with := func(change func(*settings)) *template {
		t := &template{ObjectMeta: metav1.ObjectMeta{Namespace: "own"}}
		change(&t.Spec.Template.Spec)
		return t
	}
	plain := with(func(*settings) {})
	percent := intstr.FromString("25%")
	unsafe := with(func(s *settings) {
		s.RolloutStrategy = &controlplanev1.RolloutStrategy{RollingUpdate: &controlplanev1.RollingUpdate{MaxSurge: &percent}}
	})
	const (
		refusal = `spec.template.spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: "25%": maxSurge must be the integer 0 or 1`
		reach   = "spec.template.spec: the change reaches every Cluster of the ClusterClasses that use this template at once: to go cluster by cluster"
	)
	for name, c := range map[string]struct {
		stored, object *template
		want           want
	}{
		"without anything": {object: plain},
		"unsafe":           {object: unsafe, want: want{Errors: []string{refusal}}},
		"was unsafe":       {stored: unsafe, object: unsafe, want: want{Warnings: []string{"not new, therefore not refused: " + refusal}}},
		"changed":          {stored: plain, object: with(func(s *settings) { s.ServerConfig.CNI = "cilium" }), want: want{Warnings: []string{reach}}},
		"became unsafe":    {stored: plain, object: unsafe, want: want{Errors: []string{refusal}, Warnings: []string{reach}}},
		"server settings":  {object: with(func(s *settings) { s.ServerConfig.AuditPolicySecret = elsewhere }), want: want{Errors: []string{`spec.template.spec.serverConfig.auditPolicySecret.namespace: Invalid value: "other"`}}},
		"agent settings":   {object: with(func(s *settings) { s.AgentConfig.ResolvConf = elsewhere }), want: want{Errors: []string{`spec.template.spec.agentConfig.resolvConf.namespace: Invalid value: "other"`}}},
		"address":          {object: with(func(s *settings) { s.RegistrationMethod = controlplanev1.RegistrationAddress }), want: want{Errors: []string{`spec.template.spec.registrationAddress: Required value`}}},
		"one name":         {object: with(func(s *settings) { s.AgentConfig.NodeName = "node-1" }), want: want{Warnings: []string{`spec.template.spec.agentConfig.nodeName: "node-1": only one node can have this name`}}},
		"labels": {object: func() *template {
			t := plain.DeepCopy()
			t.Spec.Template.ObjectMeta.Labels = map[string]string{"a": "b c"}
			return t
		}(), want: want{Errors: []string{`spec.template.metadata.labels: Invalid value: "b c"`}}},
	} {
		t.Run(name, func(t *testing.T) {
			findingtest.Check(t, ValidateTemplate(c.stored, c.object, false), c.want)
		})
	}
}
