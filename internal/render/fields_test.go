package render

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// TestEveryFieldReachesTheNode sets each field of the API by itself, for each role, and compares what has changed on
// the machine with what the rows say: those keys and files and no others, on those roles and no others.
func TestEveryFieldReachesTheNode(t *testing.T) {
	for _, path := range apiFields() {
		t.Run(path, func(t *testing.T) {
			for _, role := range everyNode {
				checkRows(t, role, path)
			}
		})
	}
}

func checkRows(t *testing.T, role Role, path string) {
	t.Helper()
	before, after := fieldInputs(t, role, path)
	var keys, files []string
	elsewhere := false
	for _, row := range Fields() {
		if row.Path != path || !slices.Contains(row.Roles, role) {
			continue
		}
		keys, files = append(keys, row.Keys...), append(files, row.Files...)
		elsewhere = elsewhere || row.Elsewhere != ""
	}
	if elsewhere {
		same := bytes.Equal(mustBootstrap(t, before), mustBootstrap(t, after))
		if same != slices.Contains(noChange, path) {
			t.Errorf("%s: the field changes the data: %v", role, !same)
		}
		return
	}
	for i := range files {
		files[i] = strings.NewReplacer("<data-dir>", defaultDataDir, "<service>", role.service(), "<registry>", sampleRegistry).
			Replace(files[i])
	}
	slices.Sort(keys)
	slices.Sort(files)
	for _, format := range []bootstrapv1.Format{bootstrapv1.CloudConfig, bootstrapv1.Ignition} {
		before.Config.AgentConfig.Format, after.Config.AgentConfig.Format = format, format
		gotKeys, gotFiles := changes(t, before, after)
		if path == "agentConfig.dataDir" {
			gotFiles = nil // It moves files and changes none.
		}
		if diff := cmp.Diff(keys, gotKeys); diff != "" {
			t.Errorf("%s, %s: keys of config.yaml:\n%s", role, format, diff)
		}
		if diff := cmp.Diff(files, gotFiles); diff != "" {
			t.Errorf("%s, %s: files:\n%s", role, format, diff)
		}
	}
}

// noChange are the fields that change nothing in a cloud-config, or not with the sample's value.
var noChange = []string{
	"agentConfig.format", "agentConfig.additionalUserData.strict",
	// On servers.
	"agentConfig.nodeAnnotations",
}

// changes returns the keys of config.yaml and the other files that differ.
func changes(t *testing.T, before, after Input) (keys, files []string) {
	t.Helper()
	oldFiles, newFiles := contentsOf(t, before), contentsOf(t, after)
	var oldConfig, newConfig map[string]any
	for config, text := range map[*map[string]any]string{&oldConfig: oldFiles[configPath], &newConfig: newFiles[configPath]} {
		if err := yaml.UnmarshalStrict([]byte(text), config); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range unionKeys(oldConfig, newConfig) {
		if !cmp.Equal(oldConfig[key], newConfig[key]) {
			keys = append(keys, key)
		}
	}
	for _, path := range unionKeys(oldFiles, newFiles) {
		if path != configPath && oldFiles[path] != newFiles[path] {
			files = append(files, path)
		}
	}
	return keys, files
}

// contentsOf returns what the files of a machine hold, whatever the format of its data.
func contentsOf(t *testing.T, in Input) map[string]string {
	t.Helper()
	contents := map[string]string{}
	if in.Config.AgentConfig.Format == bootstrapv1.Ignition {
		for path, described := range ignitionFilesOf(t, in) {
			_, contents[path], _ = strings.Cut(described, "\n")
		}
		return contents
	}
	for path, f := range filesOf(t, in) {
		contents[path] = f.Encoding + f.Content
	}
	return contents
}

func unionKeys[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return sortedKeys(all)
}

// TestEveryKeyHasASource makes sure that errors can name where a key comes from.
func TestEveryKeyHasASource(t *testing.T) {
	joined := joiningServer()
	for _, in := range []Input{everything(), joined, worker()} {
		for _, key := range sortedKeys(nodeSettings(&in)) {
			if source := sourceOf(key); source == configPath {
				t.Errorf("%s has no row", key)
			}
		}
	}
}

func TestNTP(t *testing.T) {
	for _, c := range []struct {
		ntp  bootstrapv1.NTP
		want bool
	}{
		{bootstrapv1.NTP{}, false},
		{bootstrapv1.NTP{Servers: []string{"a"}}, true},
		{bootstrapv1.NTP{Servers: []string{"a"}, Enabled: ptr.To(false)}, false},
		{bootstrapv1.NTP{Enabled: ptr.To(true)}, true},
	} {
		in := worker()
		in.Config.AgentConfig.NTP = &c.ntp
		var document struct {
			NTP ntpConfig `json:"ntp"`
		}
		if err := yaml.Unmarshal(mustBootstrap(t, in), &document); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ntpConfig{Enabled: c.want, Servers: c.ntp.Servers}, document.NTP); diff != "" {
			t.Error(diff)
		}
	}
}

func TestStrictChangesNoCloudConfig(t *testing.T) {
	in := worker()
	in.Config.AgentConfig.AdditionalUserData = bootstrapv1.AdditionalUserData{Config: "a: b"}
	before := mustBootstrap(t, in)
	in.Config.AgentConfig.AdditionalUserData.Strict = true
	if after := mustBootstrap(t, in); !bytes.Equal(before, after) {
		t.Errorf("got\n%s\nwant\n%s", after, before)
	}
}
