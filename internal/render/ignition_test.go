package render

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// ignitionInputs are the machines whose documents are pinned.
func ignitionInputs() map[string]Input {
	inputs := map[string]Input{
		"first-server": firstServer(), "joining-server": joiningServer(), "worker": worker(),
		"everything": everything(), "air-gapped": airGapped(),
	}
	for name, in := range inputs {
		in = ignited(in)
		if name == "everything" {
			in.Config.AgentConfig.NodeName = "node-1"
			in.Config.AgentConfig.AdditionalUserData.Config = butaneConfig
		}
		inputs[name] = in
	}
	return inputs
}

const butaneConfig = `variant: fcos
version: 1.4.0
passwd:
  users:
  - name: core
    ssh_authorized_keys: [ssh-ed25519 AAAA]
storage:
  files:
  - path: /etc/hello
    contents: {inline: "hi\n"}
systemd:
  units:
  - name: rke2-install.service
    dropins:
    - name: 10-after.conf
      contents: |
        [Unit]
        After=hello.service
`

func ignited(in Input) Input {
	in.Config.AgentConfig.Format = bootstrapv1.Ignition
	return in
}

// TestIgnitionGolden pins the documents. In the golden files the content of data URLs is unpacked; TestIgnitionFiles
// sees to it that it is complete.
func TestIgnitionGolden(t *testing.T) {
	for name, in := range ignitionInputs() {
		t.Run(name, func(t *testing.T) {
			out, err := Bootstrap(in)
			if err != nil {
				t.Fatal(err)
			}
			if out.Format != bootstrapv1.Ignition || len(out.Warnings) > 0 && name != "everything" {
				t.Errorf("format %q, warnings %q", out.Format, out.Warnings)
			}
			parseIgnition(t, out.Data)
			got := readable(t, out.Data)
			compareGolden(t, "ignition-"+name, got)
			again, err := Bootstrap(in)
			if err != nil || !bytes.Equal(again.Data, out.Data) {
				t.Errorf("the same input gave other bytes (%v)", err)
			}
		})
	}
}

// TestIgnitionFiles compares with the cloud-config: the same files with the same owners, permissions and content.
func TestIgnitionFiles(t *testing.T) {
	for name, in := range ignitionInputs() {
		t.Run(name, func(t *testing.T) {
			config := parseIgnition(t, mustBootstrap(t, in))
			got := map[string]string{}
			for _, f := range config.Storage.Files {
				got[f.Path] = describeIgnition(t, &f)
			}
			in.Config.AgentConfig.Format = bootstrapv1.CloudConfig
			in.Config.AgentConfig.AdditionalUserData = bootstrapv1.AdditionalUserData{}
			want := map[string]string{}
			for path, f := range filesOf(t, in) {
				content := f.Content
				if f.Encoding != "" {
					content = string(fromDataURL(t, "data:;base64,"+content))
				}
				if path == ScriptPath {
					content = strings.Replace(content, "echo success >\"$bootstrap_sentinel\"\n",
						"mkdir -p '/etc/cluster-api'\necho success >'/etc/cluster-api/bootstrap-success.complete'\n"+
							"echo success >\"$bootstrap_sentinel\"\n", 1)
				}
				want[path] = fmt.Sprintf("%s %s\n%s", f.Owner, f.Permissions, content)
			}
			for _, extra := range []string{chronyPath, timesyncdPath, "/etc/hello"} {
				delete(got, extra)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestIgnitionGzip(t *testing.T) {
	in := ignited(worker())
	plain := mustBootstrap(t, in)
	in.Config.GzipUserData = ptr.To(true)
	config := parseIgnition(t, mustBootstrap(t, in))
	if got := contentOf(t, &config.Ignition.Config.Replace); !bytes.Equal(got, plain) {
		t.Errorf("unpacked data differ: %s", got)
	}
}

func TestIgnitionRefusesExpressions(t *testing.T) {
	for want, change := range map[string]func(*bootstrapv1.RKE2AgentConfig){
		"agentConfig.nodeName: an expression in {{ }} is replaced by cloud-init only and not with agentConfig.format: " +
			"ignition; take nodeName out": func(a *bootstrapv1.RKE2AgentConfig) { a.NodeName = "{{ ds.meta_data.name }}" },
		"agentConfig.nodeLabels[1]: ": func(a *bootstrapv1.RKE2AgentConfig) { a.NodeLabels = []string{"a=b", "c={{ d }}"} },
		"agentConfig.nodeTaints[0]: ": func(a *bootstrapv1.RKE2AgentConfig) { a.NodeTaints = []string{"c={{ d }}:NoExecute"} },
		"agentConfig.kubelet.extraArgs[0]: ": func(a *bootstrapv1.RKE2AgentConfig) {
			a.Kubelet = &bootstrapv1.ComponentConfig{ExtraArgs: []string{"provider-id={{ d }}"}}
		},
	} {
		in := ignited(worker())
		change(&in.Config.AgentConfig)
		if _, err := Bootstrap(in); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestIgnitionClock(t *testing.T) {
	in := ignited(worker())
	for _, c := range []struct {
		ntp   bootstrapv1.NTP
		files int
		units int
	}{
		{bootstrapv1.NTP{Servers: []string{"a", "b"}}, 2, 2},
		{bootstrapv1.NTP{Servers: []string{"a"}, Enabled: ptr.To(false)}, 0, 1},
		{bootstrapv1.NTP{Enabled: ptr.To(true)}, 0, 2},
		{bootstrapv1.NTP{}, 0, 1},
	} {
		in.Config.AgentConfig.NTP = &c.ntp
		config := parseIgnition(t, mustBootstrap(t, in))
		clocks := map[string]string{}
		for _, f := range config.Storage.Files {
			if f.Path == chronyPath || f.Path == timesyncdPath {
				clocks[f.Path] = string(contentOf(t, &f.Contents))
			}
		}
		if len(clocks) != c.files || len(config.Systemd.Units) != c.units {
			t.Errorf("%+v: %v, %d units", c.ntp, clocks, len(config.Systemd.Units))
		}
		if c.files == 2 && (!strings.HasPrefix(clocks[chronyPath], "server a iburst\nserver b iburst\n") ||
			clocks[timesyncdPath] != "[Time]\nNTP=a b\n") {
			t.Errorf("%v", clocks)
		}
	}
	in.Config.AgentConfig.NTP.Servers = []string{"a b"}
	if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), "agentConfig.ntp.servers[0]: ") {
		t.Errorf("%v", err)
	}
	in.Config.AgentConfig.NTP.Servers = []string{"a"}
	in.Config.Files = []bootstrapv1.File{{Path: chronyPath}}
	if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), "files: /etc/chrony.conf is written because") {
		t.Errorf("%v", err)
	}
}

// parseIgnition reads a document with Ignition's own parser, which must have nothing to say about it.
func parseIgnition(t *testing.T, data []byte) types.Config {
	t.Helper()
	config, found, err := ignition.Parse(data)
	if err != nil || len(found.Entries) > 0 {
		t.Fatalf("Ignition's validator: %v\n%s", err, found)
	}
	return config
}

func describeIgnition(t *testing.T, f *types.File) string {
	t.Helper()
	name := func(id *int, name *string) string {
		if id != nil {
			return fmt.Sprint(*id)
		}
		return ptr.Deref(name, "root")
	}
	return fmt.Sprintf("%s:%s %04o\n%s", name(f.User.ID, f.User.Name), name(f.Group.ID, f.Group.Name), ptr.Deref(f.Mode, 0o644),
		contentOf(t, &f.Contents))
}

// contentOf does what Ignition does with a resource.
func contentOf(t *testing.T, r *types.Resource) []byte {
	t.Helper()
	content := fromDataURL(t, *r.Source)
	if ptr.Deref(r.Compression, "") == "" {
		return content
	}
	unpacker, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if content, err = io.ReadAll(unpacker); err != nil {
		t.Fatal(err)
	}
	return content
}

func fromDataURL(t *testing.T, source string) []byte {
	t.Helper()
	url, err := dataurl.DecodeString(source)
	if err != nil {
		t.Fatal(err)
	}
	return url.Data
}

// readable returns a document as YAML, with the content of data URLs in their place.
func readable(t *testing.T, data []byte) []byte {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	var unpack func(value any)
	unpack = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				unpack(item)
			}
		case map[string]any:
			if source, ok := value["source"].(string); ok {
				compression, _ := value["compression"].(string)
				value["source"] = string(contentOf(t, &types.Resource{Source: &source, Compression: &compression}))
			}
			for _, item := range value {
				unpack(item)
			}
		}
	}
	unpack(document)
	text, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
