package render

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// FuzzCloudConfig gives files, commands and user data. What is not refused has to be one YAML document, with the file,
// the command and the user's keys in it as they were given.
func FuzzCloudConfig(f *testing.F) {
	for _, seed := range [][6]string{
		{"/etc/motd", "root:root", "0644", "  {{ x }}\r\n\x80", "users: [{name: a}]", "timezone: UTC"},
		{"/a b%/ü", "1000", "0o7", "", "{}", "{{ v1.local_hostname }}"},
		{"/x", "a:b", "4755", "\x00\t- a\n", "a: &x [b]\nc: *x\n", "{a: 'it''s'}"},
		{"/\n", ":", "", "\ufeff\u2028#cloud-config", "runcmd: [false]\nwrite_files: []", "|\n  x\n"},
		{"/…", "\xff", "1", "'\"", "\"\": 1", "0x1F"},
	} {
		for _, node := range []string{"", "{{ ds.meta_data.name }}"} {
			f.Add(seed[0], seed[1], seed[2], []byte(seed[3]), seed[4], seed[5], "echo "+seed[3], node)
		}
	}
	f.Fuzz(func(t *testing.T, path, owner, mode string, content []byte, config, value, command, node string) {
		in := worker()
		in.Config.Files = []bootstrapv1.File{{Path: path, Owner: owner, Permissions: mode, ContentFrom: &bootstrapv1.FileSource{}}}
		in.Contents.Files = map[int][]byte{0: content}
		in.Config.PreRKE2Commands = []string{command}
		in.Config.AgentConfig.NodeName = node
		in.Config.AgentConfig.AdditionalUserData = bootstrapv1.AdditionalUserData{Config: config, Data: map[string]string{"own": value}}
		out, err := Bootstrap(in)
		if err != nil {
			return
		}
		text := string(out.Data)
		if strings.HasPrefix(text, "## template: jinja\n") != strings.Contains(node, "{{") {
			t.Fatalf("the mark of a template: node name %q", node)
		}
		text = strings.TrimPrefix(text, "## template: jinja\n")
		if !strings.HasPrefix(text, "#cloud-config\n") {
			t.Fatalf("no cloud-config: %.40q", text)
		}
		var document map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		kept, err := writtenFiles(document)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := kept[path]; !ok || !bytes.Equal(got, content) {
			t.Errorf("%q became %q", content, got)
		}
		if !bytes.Contains(kept[ScriptPath], []byte("\n"+command+"\n")) {
			t.Errorf("the command is not in the script:\n%s", kept[ScriptPath])
		}
		var own any
		if err := yaml.Unmarshal([]byte(value), &own); err != nil || !reflect.DeepEqual(document["own"], own) {
			t.Errorf("the user's key: %v, wanted %v (%v)", document["own"], own, err)
		}
	})
}

// writtenFiles does what cloud-init does with write_files.
func writtenFiles(document map[string]any) (map[string][]byte, error) {
	kept := map[string][]byte{}
	for _, item := range document["write_files"].([]any) {
		file := item.(map[string]any)
		content := []byte(file["content"].(string))
		switch file["encoding"] {
		case nil:
		case "b64":
			decoded, err := base64.StdEncoding.DecodeString(string(content))
			if err != nil {
				return nil, fmt.Errorf("%v: %w", file["path"], err)
			}
			content = decoded
		default:
			return nil, fmt.Errorf("%v: encoding %v", file["path"], file["encoding"])
		}
		kept[file["path"].(string)] = content
	}
	return kept, nil
}
