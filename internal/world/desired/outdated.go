package desired

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Outdated says in which ways a Machine differs from the control plane, one
// short reason for each. What can't be compared, because an object or an
// annotation is missing or not readable, counts as equal: a server is not
// replaced on a guess. Config and infra may be nil. Now is the time that counts
// for what is due at a time.
func Outdated(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine, config *bootstrapv1.RKE2Config, infra *unstructured.Unstructured, now time.Time) []string {
	var reasons []string
	add := func(reason string) {
		if reason != "" {
			reasons = append(reasons, reason)
		}
	}
	if m.Spec.Version != cp.Spec.Version {
		add(fmt.Sprintf("version %s, wanted %s", orNone(m.Spec.Version), cp.Spec.Version))
	}
	add(serverConfigDiffers(cp, m))
	add(registrationDiffers(cp, m))
	if config != nil {
		add(configDiffers(cp, m, config))
	}
	if infra != nil {
		add(templateDiffers(cp, infra))
	}
	for _, d := range dues(cp, m, config) {
		if !d.at.After(now) {
			add(d.reason)
		}
	}
	return reasons
}

// serverConfigDiffers compares by meaning: both sides are read into the type
// and written again, so that key order, fields at their zero value and fields
// that nobody knows do not matter.
func serverConfigDiffers(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine) string {
	recorded, known := RecordedServerConfig(m)
	if !known {
		return ""
	}
	fields := differingFields(ServerConfig(cp, recorded), ServerConfig(cp, cp.Spec.ServerConfig))
	if len(fields) == 0 {
		return ""
	}
	return "server configuration changed: " + strings.Join(fields, ", ")
}

// RecordedServerConfig is the server configuration a Machine was made with. The
// second result is false when there is no record that can be read.
func RecordedServerConfig(m *clusterv1.Machine) (controlplanev1.RKE2ServerConfig, bool) {
	var config controlplanev1.RKE2ServerConfig
	text, ok := m.Annotations[controlplanev1.ServerConfigurationAnnotation]
	if !ok || json.Unmarshal([]byte(text), &config) != nil {
		return controlplanev1.RKE2ServerConfig{}, false
	}
	return config, true
}

func configDiffers(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine, config *bootstrapv1.RKE2Config) string {
	was, want := normalized(config.Spec), normalized(cp.Spec.RKE2ConfigSpec)
	if _, injected := config.Annotations[bootstrapv1.TurtlesSystemAgentAnnotation]; injected {
		was.Files = withoutAdditions(was.Files, want.Files)
		was.PreRKE2Commands = withoutAdditions(was.PreRKE2Commands, want.PreRKE2Commands)
		was.PostRKE2Commands = withoutAdditions(was.PostRKE2Commands, want.PostRKE2Commands)
	}
	// They are written to the Node of a server as they are wanted now, and its
	// machine was not told of them.
	was.AgentConfig.NodeAnnotations = want.AgentConfig.NodeAnnotations
	if madeElsewhere(m) {
		// The name was never given to the node, so no change of it makes one.
		was.AgentConfig.NodeName = want.AgentConfig.NodeName
	}
	fields := differingFields(was, want)
	if len(fields) == 0 {
		return ""
	}
	return "RKE2 configuration changed: " + strings.Join(fields, ", ")
}

func templateDiffers(cp *controlplanev1.RKE2ControlPlane, infra *unstructured.Unstructured) string {
	name, hasName := infra.GetAnnotations()[clusterv1.TemplateClonedFromNameAnnotation]
	kind, hasKind := infra.GetAnnotations()[clusterv1.TemplateClonedFromGroupKindAnnotation]
	if !hasName || !hasKind {
		return ""
	}
	ref := cp.Spec.MachineTemplate.Spec.InfrastructureRef
	wantKind := schema.GroupKind{Group: ref.APIGroup, Kind: ref.Kind}.String()
	switch {
	case kind != wantKind:
		return fmt.Sprintf("infrastructure template %s %s, wanted %s %s", kind, name, wantKind, ref.Name)
	case name != ref.Name:
		return fmt.Sprintf("infrastructure template %s, wanted %s", name, ref.Name)
	default:
		return ""
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
