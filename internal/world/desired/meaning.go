package desired

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// TakenOver tells whether another provider made the first server of the
// cluster. Its servers run with what that provider made of the settings.
func TakenOver(cp *controlplanev1.RKE2ControlPlane) bool {
	return cp.Annotations[controlplanev1.FirstServerByAnnotation] != controlplanev1.FirstServerByDrover
}

// ServerConfig is the server configuration with its defaults as they hold in
// this cluster. TLS of S3 endpoints is verified unless that is switched off;
// clusters that were taken over were made under the opposite default, and
// their endpoints may have certificates that nobody can verify.
func ServerConfig(cp *controlplanev1.RKE2ControlPlane, config controlplanev1.RKE2ServerConfig) controlplanev1.RKE2ServerConfig {
	out := *config.DeepCopy()
	backup := &out.Etcd.BackupConfig
	if s3 := backup.S3; s3 != nil && s3.EnforceSSLVerify == nil {
		s3.EnforceSSLVerify = ptr.To(!TakenOver(cp))
	}
	if !ptr.Deref(backup.DisableAutomaticSnapshots, false) {
		backup.DisableAutomaticSnapshots = nil
	}
	return out
}

// madeElsewhere tells whether another provider made the Machine.
func madeElsewhere(m *clusterv1.Machine) bool {
	return m.Annotations[controlplanev1.MadeByAnnotation] != controlplanev1.MadeByDrover
}

// normalized writes out what is meant by an empty field, so that defaulting,
// now or in a former release, is no difference.
func normalized(spec bootstrapv1.RKE2ConfigSpec) bootstrapv1.RKE2ConfigSpec {
	s := *spec.DeepCopy()
	if s.AgentConfig.Format == "" {
		s.AgentConfig.Format = bootstrapv1.CloudConfig
	}
	if !ptr.Deref(s.GzipUserData, false) {
		s.GzipUserData = nil
	}
	s.AgentConfig.AdditionalUserData.Data = userDataMeaning(s.AgentConfig.AdditionalUserData.Data)
	return s
}

// ConfigMeaning is what a config says, as JSON: the same for configs that are
// written in different ways and mean the same.
func ConfigMeaning(spec bootstrapv1.RKE2ConfigSpec) []byte {
	var tree any
	if err := json.Unmarshal(mustJSON(normalized(spec)), &tree); err != nil {
		panic(fmt.Sprintf("a config is no JSON: %v", err))
	}
	tree, _ = prune(tree)
	return mustJSON(tree)
}

// userDataMeaning reads the values as the YAML they are and leaves out the keys
// that have no effect. Another provider's webhook dropped those keys and
// indented the values anew, once for each object that it saw.
func userDataMeaning(data map[string]string) map[string]string {
	out := map[string]string{}
	for key, text := range data {
		if key == "write_files" || key == "runcmd" || key == "ntp" {
			continue
		}
		out[key] = strings.TrimSpace(text)
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err == nil {
			out[key] = string(mustJSON(value))
		}
	}
	return out
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
// even at zero: behind a pointer, false is something else than absent. So do
// the entries of a list, which count by their place.
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
		for i := range t {
			t[i], _ = prune(t[i])
		}
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
