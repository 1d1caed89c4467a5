package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io/fs"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

func compressed(text string) string {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return buffer.String()
}

func dataURL(text string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(text))
}

// config returns a config with these members beside its version.
func config(members string) string {
	if members != "" {
		members = ", " + members
	}
	return `{"ignition": {"version": "3.3.0"}` + members + `}`
}

func files(entries string) string { return config(`"storage": {"files": [` + entries + `]}`) }

// sumOfText is the SHA-256 of "text".
const sumOfText = "sha256-982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"

func TestParse(t *testing.T) {
	file := func(change func(*File)) Config {
		f := File{Node: Node{Path: "/f", Owner: ":"}, Content: []byte("text")}
		change(&f)
		return Config{Files: []File{f}}
	}
	replaced := func(inner string, compression string) string {
		return `{"ignition": {"version": "3.3.0", "config": {"replace": {"source": "` + dataURL(inner) + `", "compression": "` + compression + `"}}}}`
	}
	plain := files(`{"path": "/f", "contents": {"source": "data:,text"}}`)
	for _, test := range []struct {
		name, data string
		want       Config
	}{
		{"nothing", config(""), Config{}},
		{"an older version", `{"ignition": {"version": "3.0.0"}}`, Config{}},
		{"defaults", plain, file(func(*File) {})},
		{"no content", files(`{"path": "/f"}`), file(func(f *File) { f.Content = nil })},
		{"empty content", files(`{"path": "/f", "contents": {"source": ""}}`), file(func(f *File) { f.Content = []byte{} })},
		{"base64", files(`{"path": "/f", "contents": {"source": "` + dataURL("text") + `"}}`), file(func(*File) {})},
		{
			"compressed", files(`{"path": "/f", "contents": {"compression": "gzip", "source": "` + dataURL(compressed("text")) + `"}}`),
			file(func(*File) {}),
		},
		{
			"with a checksum of what is unpacked",
			files(`{"path": "/f", "contents": {"compression": "gzip", "source": "` + dataURL(compressed("text")) + `", "verification": {"hash": "` + sumOfText + `"}}}`),
			file(func(*File) {}),
		},
		{
			"mode, owner, overwrite", files(`{"path": "/f", "overwrite": true, "mode": 416, "user": {"id": 1}, "group": {"name": "g"}, "contents": {"source": "data:,text"}}`),
			file(func(f *File) { f.Mode, f.Owner, f.Overwrite = ptr.To(fs.FileMode(0o640)), "1:g", true }),
		},
		{
			"appended", files(`{"path": "/f", "append": [{"source": "data:,a"}, {"source": "data:,b"}]}`),
			file(func(f *File) { f.Content, f.Appended = nil, []byte("ab") }),
		},
		{"replaced", replaced(plain, ""), file(func(*File) {})},
		{"replaced and compressed", replaced(compressed(plain), "gzip"), file(func(*File) {})},
		{
			"merged", `{"ignition": {"version": "3.3.0", "config": {"merge": [{"source": "` + dataURL(plain) + `"}]}},
				"storage": {"files": [{"path": "/f", "mode": 384, "contents": {"source": "data:,mine"}}]}}`,
			file(func(f *File) { f.Mode = ptr.To(fs.FileMode(0o600)) }),
		},
		{
			"folders and links", config(`"storage": {"directories": [{"path": "/d", "mode": 448}], "links": [{"path": "/l", "target": "/d"}, {"path": "/h", "target": "/f", "hard": true}]}`),
			Config{
				Directories: []Directory{{Node: Node{Path: "/d", Owner: ":"}, Mode: ptr.To(fs.FileMode(0o700))}},
				Links:       []Link{{Node: Node{Path: "/l", Owner: ":"}, Target: "/d"}, {Node: Node{Path: "/h", Owner: ":"}, Target: "/f", Hard: true}},
			},
		},
		{
			"units", config(`"systemd": {"units": [{"name": "a.service", "enabled": true}]}`),
			Config{Units: []types.Unit{{Name: "a.service", Enabled: ptr.To(true)}}},
		},
		{
			"what has no effect", config(`"passwd": {"users": [{"name": "core"}]}, "storage": {"disks": [{"device": "/dev/sda"}]}, "kernelArguments": {"shouldExist": ["quiet"]}`),
			Config{Ignored: []string{"kernelArguments", "passwd.users", "storage.disks"}},
		},
		{"other ways to fetch", `{"ignition": {"version": "3.3.0", "timeouts": {"httpTotal": 1}, "proxy": {"httpProxy": "http://p"}}}`, Config{Ignored: []string{"ignition.proxy", "ignition.timeouts"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse([]byte(test.data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseTellsWarnings(t *testing.T) {
	got, err := Parse([]byte(config(`"storage": {"unheardOf": 1}`)))
	if err != nil || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "unheardOf") {
		t.Errorf("%q %v", got.Warnings, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", "not a valid Ignition config"},
		{"a cloud-config", "#cloud-config\n", "not a valid Ignition config"},
		{"a newer version", `{"ignition": {"version": "3.4.0"}}`, "unsupported config version"},
		{"a relative path", files(`{"path": "f"}`), "config is not valid: error at $.storage.files.0.path, "},
		{"a source on the network", files(`{"path": "/f", "contents": {"source": "https://example.com/secret"}}`), "storage.files (/f): contents: a lab machine reads data URLs, and none of https"},
		{"broken gzip", files(`{"path": "/f", "append": [{"compression": "gzip", "source": "data:,x"}]}`), "storage.files (/f): append, entry 1: decompress: "},
		{"another checksum", files(`{"path": "/f", "contents": {"source": "data:,other", "verification": {"hash": "` + sumOfText + `"}}}`), "storage.files (/f): contents: the content does not match verification.hash"},
		{"a broken replacement", `{"ignition": {"version": "3.3.0", "config": {"replace": {"source": "data:,x"}}}}`, "ignition.config.replace: not a valid Ignition config"},
		{"a merge from the network", `{"ignition": {"version": "3.3.0", "config": {"merge": [{"source": "s3://a/b"}]}}}`, "ignition.config.merge, entry 1: a lab machine reads"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.data))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
