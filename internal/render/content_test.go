package render

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// TestUserContentIsKept gives content that YAML, templates or encodings could change.
func TestUserContentIsKept(t *testing.T) {
	contents := []string{
		"  leading spaces\n\tand a tab\n", "no newline at the end", "", "\n\n", "trailing \n", "a: b # c\n", "{{ not.mine }}\n",
		"{% raw %}${#x}{# #}\n", "crlf\r\n", "\x00binary\xff\xfe", "emoji 🐑, ü, \u2028, \u0085, \ufeff", "%{q} \"quoted\" 'single' \\back\n",
		"- - -\n", "---\nfoo\n...\n", "\"", "'", "~", "null", "1.0", "<&>", "line\n  indented\n    more\n",
	}
	for _, nodeName := range []string{"", "{{ ds.meta_data.local_hostname }}"} {
		in := worker()
		in.Config.AgentConfig.NodeName = nodeName
		in.Contents.Files = map[int][]byte{}
		in.Config.Files = nil
		for i, content := range contents {
			path := filepath.Join("/x", string(rune('a'+i)))
			in.Config.Files = append(in.Config.Files, bootstrapv1.File{Path: path, ContentFrom: &bootstrapv1.FileSource{}})
			in.Contents.Files[i] = []byte(content)
		}
		out, err := Bootstrap(in)
		if err != nil {
			t.Fatal(err)
		}
		if nodeName != "" && bytes.Contains(out.Data, []byte("{{ not.mine")) {
			t.Error("a template expression of a user's file reaches the template engine")
		}
		files := filesOf(t, in)
		for i, content := range contents {
			got := files[in.Config.Files[i].Path]
			text := []byte(got.Content)
			if got.Encoding == "b64" {
				if text, err = base64.StdEncoding.DecodeString(got.Content); err != nil {
					t.Fatal(err)
				}
			}
			if string(text) != content {
				t.Errorf("%q became %q", content, text)
			}
		}
	}
}

// A megabyte that is no plain text survives, too. It fits into the Secret when it is compressed.
func TestLargeContentIsKept(t *testing.T) {
	content := bytes.Repeat([]byte("1 MB of\r\n{{ text }}\t\x80"), 1<<20/21+1)
	in := worker()
	in.Config.GzipUserData = ptr.To(true)
	in.Config.Files = []bootstrapv1.File{{Path: "/large", ContentFrom: &bootstrapv1.FileSource{}}}
	in.Contents.Files = map[int][]byte{0: content}
	unpacker, err := gzip.NewReader(bytes.NewReader(mustBootstrap(t, in)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacker)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := writtenFiles(parse(t, data))
	if err != nil || !bytes.Equal(kept["/large"], content) {
		t.Errorf("%d bytes became %d (%v)", len(content), len(kept["/large"]), err)
	}
}

func TestUserEncodings(t *testing.T) {
	in := worker()
	in.Config.Files = []bootstrapv1.File{
		{Path: "/a", Encoding: bootstrapv1.Base64, Content: "aGk="},
		{Path: "/b", Encoding: bootstrapv1.GzipBase64, Content: "H4sI"},
		{Path: "/c", Encoding: bootstrapv1.Gzip, ContentFrom: &bootstrapv1.FileSource{}},
	}
	in.Contents.Files = map[int][]byte{2: {0x1f, 0x8b}}
	files := filesOf(t, in)
	for path, want := range map[string][2]string{
		"/a": {"b64", "aGk="}, "/b": {"gz+b64", "H4sI"}, "/c": {"gz+b64", "H4s="},
	} {
		if got := files[path]; got.Encoding != want[0] || got.Content != want[1] {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestTemplateHeader(t *testing.T) {
	plain, err := Bootstrap(worker())
	if err != nil || !bytes.HasPrefix(plain.Data, []byte("#cloud-config\n")) {
		t.Errorf("%v, %.40q", err, plain.Data)
	}
	for field, set := range map[string]func(*bootstrapv1.RKE2AgentConfig){
		"nodeName": func(c *bootstrapv1.RKE2AgentConfig) { c.NodeName = "{{ ds.meta_data.local_hostname }}" },
		"kubelet": func(c *bootstrapv1.RKE2AgentConfig) {
			c.Kubelet = &bootstrapv1.ComponentConfig{ExtraArgs: []string{"provider-id=metal3://{{ ds.meta_data.uuid }}"}}
		},
	} {
		in := worker()
		set(&in.Config.AgentConfig)
		out, err := Bootstrap(in)
		if err != nil || !bytes.HasPrefix(out.Data, []byte("## template: jinja\n#cloud-config\n")) {
			t.Errorf("%s: %v, %.40q", field, err, out.Data)
		}
		if !bytes.Contains(out.Data, []byte("{{ ds.meta_data.")) {
			t.Errorf("%s: the expression is gone", field)
		}
	}
	in := worker()
	in.Config.AgentConfig.NodeName = "{{ ds['meta_data'] }}"
	if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), "double quotes") {
		t.Errorf("an expression that quoting changes: %v", err)
	}
}
