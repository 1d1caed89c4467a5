package desired

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Outdated says in which ways a Machine differs from the control plane, one
// short reason for each. What can't be compared, because an object or an
// annotation is missing, counts as equal: a server is not replaced on a
// guess. Config and infra may be nil.
func Outdated(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine, config *bootstrapv1.RKE2Config, infra *unstructured.Unstructured) []string {
	var reasons []string
	if m.Spec.Version != cp.Spec.Version {
		reasons = append(reasons, fmt.Sprintf("version %s, wanted %s", orNone(m.Spec.Version), cp.Spec.Version))
	}
	if reason := serverConfigDiffers(cp, m); reason != "" {
		reasons = append(reasons, reason)
	}
	if config != nil {
		if fields := configDiffers(cp, config); len(fields) > 0 {
			reasons = append(reasons, "RKE2 configuration changed: "+strings.Join(fields, ", "))
		}
	}
	if infra != nil {
		if reason := templateDiffers(cp, infra); reason != "" {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// serverConfigDiffers compares by meaning: both sides are read into the type
// and written again, so that key order and fields at their zero value do not
// matter.
func serverConfigDiffers(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine) string {
	recorded, ok := m.Annotations[controlplanev1.ServerConfigurationAnnotation]
	if !ok {
		return ""
	}
	var was controlplanev1.RKE2ServerConfig
	if err := json.Unmarshal([]byte(recorded), &was); err != nil {
		return "server configuration on record is not readable"
	}
	fields := differingFields(was, cp.Spec.ServerConfig)
	if len(fields) == 0 {
		return ""
	}
	return "server configuration changed: " + strings.Join(fields, ", ")
}

func configDiffers(cp *controlplanev1.RKE2ControlPlane, config *bootstrapv1.RKE2Config) []string {
	was, want := normalized(config.Spec), normalized(cp.Spec.RKE2ConfigSpec)
	if _, injected := config.Annotations[bootstrapv1.TurtlesSystemAgentAnnotation]; injected {
		was.Files = withoutAdditions(was.Files, want.Files)
		was.PreRKE2Commands = withoutAdditions(was.PreRKE2Commands, want.PreRKE2Commands)
		was.PostRKE2Commands = withoutAdditions(was.PostRKE2Commands, want.PostRKE2Commands)
	}
	return differingFields(was, want)
}

// normalized writes out what is meant by an empty field, so that defaulting,
// now or in a former release, is no difference.
func normalized(spec bootstrapv1.RKE2ConfigSpec) bootstrapv1.RKE2ConfigSpec {
	s := *spec.DeepCopy()
	if s.AgentConfig.Format == "" {
		s.AgentConfig.Format = bootstrapv1.CloudConfig
	}
	if s.GzipUserData != nil && !*s.GzipUserData {
		s.GzipUserData = nil
	}
	return s
}

// withoutAdditions returns want when all of it stands in have, in order and
// with other entries around it; else have unchanged.
func withoutAdditions[T any](have, want []T) []T {
	rest := want
	for _, item := range have {
		if len(rest) > 0 && bytes.Equal(mustJSON(item), mustJSON(rest[0])) {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return want
	}
	return have
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

// differingFields names the top-level JSON fields in which two values of one
// type differ, sorted.
func differingFields(a, b any) []string {
	left, right := fields(a), fields(b)
	var out []string
	for key, value := range left {
		if !bytes.Equal(value, right[key]) {
			out = append(out, key)
		}
	}
	for key := range right {
		if _, ok := left[key]; !ok {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// fields splits a value into its JSON fields, leaving out those that hold
// nothing at any depth: an empty object and a missing one mean the same here.
func fields(v any) map[string][]byte {
	var tree map[string]any
	if err := json.Unmarshal(mustJSON(v), &tree); err != nil {
		panic(fmt.Sprintf("value of type %T is no JSON object: %v", v, err))
	}
	out := map[string][]byte{}
	for key, value := range tree {
		if kept, ok := prune(value); ok {
			out[key] = mustJSON(kept)
		}
	}
	return out
}

// prune drops empty objects, empty lists and nulls. Booleans and numbers stay
// even at zero: behind a pointer, false is something else than absent.
func prune(v any) (any, bool) {
	switch t := v.(type) {
	case nil:
		return nil, false
	case map[string]any:
		for key, value := range t {
			kept, ok := prune(value)
			if !ok {
				delete(t, key)
				continue
			}
			t[key] = kept
		}
		return t, len(t) > 0
	case []any:
		return t, len(t) > 0
	default:
		return t, true
	}
}

// mustJSON marshals API values, which can't fail to marshal.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err))
	}
	return b
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
