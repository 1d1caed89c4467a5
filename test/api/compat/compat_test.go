package compat

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const crdFolder = "../../../config/crd/bases"

// kinds maps each kind to the file its CRD is generated into.
var kinds = map[string]string{
	"RKE2Config":               "bootstrap.cluster.x-k8s.io_rke2configs.yaml",
	"RKE2ConfigTemplate":       "bootstrap.cluster.x-k8s.io_rke2configtemplates.yaml",
	"RKE2ControlPlane":         "controlplane.cluster.x-k8s.io_rke2controlplanes.yaml",
	"RKE2ControlPlaneTemplate": "controlplane.cluster.x-k8s.io_rke2controlplanetemplates.yaml",
}

// intended lists what is narrower on purpose, by the start of the finding, with the reason why no working object is
// refused by it.
var intended = map[string]string{
	".status.conditions: ": "the condition helpers never write a type twice nor more than a handful, and the contract asks for a map",

	".spec: rule has(self.machineTemplate)": "the webhook of the other provider refuses an undefined infrastructureRef",
	".spec: rule !has(self.serverConfig)":   "the webhook of the other provider refuses Multus without a CNI",
	".spec: rule self.?registrationMethod":  "the webhook of the other provider refuses the method address without an address",
	".spec.replicas: rule self >= 1":        "the webhook of the other provider refuses replicas of 0 and less",
	".spec.version: rule size(self) == 0":   "the pattern it replaces is a special case of it",

	".spec.template.spec.version: rule size(self) == 0": "the pattern it replaces is a special case of it",

	".spec: rule self.?version":                                                   "the version was required; in this form the refusal is a sentence",
	".spec: rule self.?rolloutStrategy":                                           "maxSurge 0 with fewer than 3 servers loses quorum",
	".spec: rule self.?rollout.?strategy":                                         "maxSurge 0 with fewer than 3 servers loses quorum",
	".spec.rolloutStrategy.type: rule self ==":                                    "no other type ever had an effect",
	".spec.template.spec.rolloutStrategy.type: rule self ==":                      "no other type ever had an effect",
	".spec.rolloutStrategy.rollingUpdate.maxSurge: rule type(self)":               "percentages and more than 1 never did what they say",
	".spec.template.spec.rolloutStrategy.rollingUpdate.maxSurge: rule type(self)": "percentages and more than 1 never did what they say",
}

// isIntended tells whether a finding is one of the intended ones.
func isIntended(finding string) bool {
	for start := range intended {
		if strings.HasPrefix(finding, start) {
			return true
		}
	}
	return false
}

// versions are the served versions.
var versions = []string{"v1beta1", "v1beta2"}

func TestNothingBecameNarrower(t *testing.T) {
	for kind := range kinds {
		for _, version := range versions {
			t.Run(kind+"/"+version, func(t *testing.T) {
				for _, finding := range narrowings(listed(t, kind, version), generated(t, kind, version)) {
					if !isIntended(finding) {
						t.Error(finding)
					}
				}
			})
		}
	}
}

// listed reads the listing of a kind in one version.
func listed(t *testing.T, kind, version string) properties {
	t.Helper()
	return readListing(t, filepath.Join("testdata", kind+"_"+version+".txt"))
}

// generated flattens the schema of one version of a generated CRD.
func generated(t *testing.T, kind, version string) properties {
	t.Helper()
	ours := properties{}
	flatten(ours, "", schemaOf(t, readCRD(t, filepath.Join(crdFolder, kinds[kind])), version), false)
	return ours
}

// Every entry of intended has to be about something that is there, so that none outlives its reason.
func TestIntendedNarrowingsExist(t *testing.T) {
	var all []string
	for kind := range kinds {
		for _, version := range versions {
			all = append(all, narrowings(listed(t, kind, version), generated(t, kind, version))...)
		}
	}
	for start := range intended {
		if !slices.ContainsFunc(all, func(finding string) bool { return strings.HasPrefix(finding, start) }) {
			t.Errorf("%q matches no finding", start)
		}
	}
}

// The comparison itself has to notice each way a schema can become narrower.
func TestComparisonNoticesNarrowing(t *testing.T) {
	changes := map[string]struct {
		change func(properties)
		want   string
	}{
		"field removed": {
			func(p properties) { delete(p, ".spec.agentConfig.dataDir") },
			".spec.agentConfig.dataDir: missing"},
		"type changed": {
			func(p properties) { edit(p, ".spec.gzipUserData", func(q *property) { q.kind = "string" }) },
			".spec.gzipUserData: type boolean became string"},
		"optional became required": {
			func(p properties) { edit(p, ".spec.agentConfig", func(q *property) { q.required = true }) },
			".spec.agentConfig: optional became required"},
		"new required field": {
			func(p properties) { p[".spec.agentConfig.extra"] = property{kind: "string", required: true} },
			".spec.agentConfig.extra: new and required"},
		"enum value removed": {
			func(p properties) { setConstraint(p, ".spec.agentConfig.format", "enum", []any{"cloud-config"}) },
			`.spec.agentConfig.format: enum was ["cloud-config","ignition"], is ["cloud-config"]`},
		"pattern added": {
			func(p properties) { setConstraint(p, ".spec.agentConfig.dataDir", "pattern", "^/") },
			`.spec.agentConfig.dataDir: pattern was null, is "^/"`},
		"length limited": {
			func(p properties) { setConstraint(p, ".status.conditions[].message", "maxLength", 10.0) },
			".status.conditions[].message: maxLength was 32768, is 10"},
		"rule removed": {
			func(p properties) {
				delete(p[".spec.files[].contentFrom"].constraints, "x-kubernetes-validations")
			},
			".spec.files[].contentFrom: rule !(has(self.secret) && has(self.configMap)) is gone"},
		"rule added": {
			func(p properties) {
				setConstraint(p, ".spec.agentConfig", "x-kubernetes-validations", []any{map[string]any{"rule": "false"}})
			},
			".spec.agentConfig: rule false is new"},
		"merging changed": {
			func(p properties) {
				setConstraint(p, ".spec.agentConfig.resolvConf", "x-kubernetes-map-type", "granular")
			},
			`.spec.agentConfig.resolvConf: x-kubernetes-map-type was "atomic", is "granular"`},
	}
	want := listed(t, "RKE2Config", "v1beta2")
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			changed := generated(t, "RKE2Config", "v1beta2")
			c.change(changed)
			if got := narrowings(want, changed); !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func edit(p properties, path string, change func(*property)) {
	q := p[path]
	change(&q)
	p[path] = q
}

func setConstraint(p properties, path, name string, value any) {
	p[path].constraints[name] = value
}

func TestCRDMetadata(t *testing.T) {
	providers := map[string]string{"RKE2Config": "bootstrap-rke2", "RKE2ControlPlane": "control-plane-rke2"}
	for kind, file := range kinds {
		crd := readCRD(t, filepath.Join(crdFolder, file))
		labels, _ := crd["metadata"].(map[string]any)["labels"].(map[string]any)
		// Cluster API uses the last of the versions that are listed there and served.
		if labels["cluster.x-k8s.io/v1beta2"] != "v1beta1_v1beta2" {
			t.Errorf("%s: the CRD does not claim contract v1beta2 with v1beta2 last: %v", kind, labels)
		}
		if want := providers[strings.TrimSuffix(kind, "Template")]; labels["cluster.x-k8s.io/provider"] != want {
			t.Errorf("%s: provider label %v, want %s", kind, labels["cluster.x-k8s.io/provider"], want)
		}
		names := crd["spec"].(map[string]any)["names"].(map[string]any)
		if !slices.Contains(asList(names["categories"]), any("cluster-api")) {
			t.Errorf("%s: not in category cluster-api, so kubectl get cluster-api leaves it out", kind)
		}
	}
}

// v1beta1 and v1beta2 are served, and v1beta2 is stored. A CRD that is replaced by ours may have objects stored in
// either, and the API server refuses a CRD without a version that objects are stored in.
func TestServedAndStoredVersions(t *testing.T) {
	for kind, file := range kinds {
		var got []string
		for _, v := range readCRD(t, filepath.Join(crdFolder, file))["spec"].(map[string]any)["versions"].([]any) {
			v := v.(map[string]any)
			got = append(got, fmt.Sprintf("%v served=%v storage=%v", v["name"], v["served"], v["storage"]))
		}
		if want := []string{"v1beta1 served=true storage=false", "v1beta2 served=true storage=true"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", kind, got, want)
		}
	}
}
