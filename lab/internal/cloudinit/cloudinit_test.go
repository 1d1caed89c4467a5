package cloudinit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/drover-project/drover/lab/internal/userdata"
)

func compressed(text string) []byte {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return buffer.Bytes()
}

func encoded(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func TestParse(t *testing.T) {
	file := func(change func(*File)) Config {
		f := File{File: userdata.File{Path: "/f", Content: []byte("text"), Mode: 0o644, Owner: "root:root"}}
		change(&f)
		return Config{Files: []File{f}}
	}
	entry := func(fields string) string { return "#cloud-config\nwrite_files:\n- {path: /f, " + fields + "}\n" }
	for _, test := range []struct {
		name, data string
		want       Config
	}{
		{"nothing", "#cloud-config\n", Config{}},
		{"defaults", entry(`content: text`), file(func(*File) {})},
		{"no content", "#cloud-config\nwrite_files: [{path: /f}]", file(func(f *File) { f.Content = []byte{} })},
		{"compressed as a whole", string(compressed(entry(`content: text`))), file(func(*File) {})},
		{"b64", entry(`encoding: b64, content: ` + encoded([]byte("text"))), file(func(*File) {})},
		{"base64 over lines", entry("encoding: base64, content: \"dGV4\\n  dA==\\n\""), file(func(*File) {})},
		{"gz+b64", entry(`encoding: gz+b64, content: ` + encoded(compressed("text"))), file(func(*File) {})},
		{"gzip+base64", entry(`encoding: gzip+base64, content: ` + encoded(compressed("text"))), file(func(*File) {})},
		{"mode as text", entry(`content: text, permissions: "0640"`), file(func(f *File) { f.Mode = 0o640 })},
		{"mode with 0o", entry(`content: text, permissions: "0o600"`), file(func(f *File) { f.Mode = 0o600 })},
		{"mode as octal number", entry(`content: text, permissions: 0640`), file(func(f *File) { f.Mode = 0o640 })},
		{"setuid", entry(`content: text, permissions: "4755"`), file(func(f *File) { f.Mode = 0o755 | fs.ModeSetuid })},
		{"owner, append, defer", entry(`content: text, owner: "1:2", append: true, defer: true`), file(func(f *File) { f.Owner, f.Append, f.Defer = "1:2", true, true })},
		{"jinja", "## template: jinja\n#cloud-config\nruncmd: ['echo {{ ds.meta_data.local_hostname }} on {{v1.local_hostname}}']", Config{Commands: []Command{"echo m1 on m1"}}},
		{"no jinja header", "#cloud-config\nruncmd: ['echo {{ v1.local_hostname }} {% x %}']", Config{Commands: []Command{"echo {{ v1.local_hostname }} {% x %}"}}},
		{"commands", "#cloud-config\nruncmd:\n- echo $HOME\n- [echo, \"it's\", $HOME, 1000000, 1.5]\n-\n- |\n  a\n  b\n", Config{Commands: []Command{
			"echo $HOME", `'echo' 'it'\''s' '$HOME' '1000000' '1.5'`, "a\nb\n",
		}}},
		{"other keys", "#cloud-config\nusers: []\nntp: {enabled: true}\n", Config{Ignored: []string{"ntp", "users"}}},
		{"carriage returns", "#cloud-config\r\nruncmd: [a]\r\n", Config{Commands: []Command{"a"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse([]byte(test.data), "m1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"empty", "", `first line must be "#cloud-config"`},
		{"a script", "#!/bin/sh\n", `but it is "#!/bin/sh"`},
		{"late header", "\n#cloud-config\n", `first line must be`},
		{"broken YAML", "#cloud-config\na: [", "not valid YAML"},
		{"a list", "#cloud-config\n- a\n", "not valid YAML"},
		{"key twice", "#cloud-config\nruncmd: [a]\nruncmd: [b]\n", `already set`},
		{"broken gzip", "\x1f\x8bxx", "decompress"},
		{"files not a list", "#cloud-config\nwrite_files: {path: /a}\n", "write_files must be a list"},
		{"no path", "#cloud-config\nwrite_files: [{content: a}]\n", `entry 1 (): the path "" is not absolute`},
		{"relative path", "#cloud-config\nwrite_files: [{path: /a}, {path: b}]\n", "entry 2 (b): the path"},
		{"unknown field", "#cloud-config\nwrite_files: [{path: /a, mode: 1}]\n", `entry 1: `},
		{"bad mode", "#cloud-config\nwrite_files: [{path: /a, permissions: '0689'}]\n", "not an octal mode"},
		{"mode too large", "#cloud-config\nwrite_files: [{path: /a, permissions: '10000'}]\n", "not an octal mode"},
		{"unknown encoding", "#cloud-config\nwrite_files: [{path: /a, encoding: rot13}]\n", `unknown encoding "rot13"`},
		{"bad base64", "#cloud-config\nwrite_files: [{path: /a, encoding: b64, content: '*'}]\n", "entry 1 (/a): content: illegal base64"},
		{"bad gzip content", "#cloud-config\nwrite_files: [{path: /a, encoding: gz+b64, content: dGV4dA==}]\n", "decompress"},
		{"commands not a list", "#cloud-config\nruncmd: a\n", "runcmd must be a list"},
		{"a command that is a map", "#cloud-config\nruncmd: [a, {b: c}]\n", "entry 2 must be text or a list of words"},
		{"a word that is a list", "#cloud-config\nruncmd: [[a, [b]]]\n", "entry 1: a word"},
		{"unknown expression", "## template: jinja\n#cloud-config\na: '{{ ds.meta_data.uuid }}'\n", `"{{ ds.meta_data.uuid }}" is not known`},
		{"template statement", "## template: jinja\n#cloud-config\na: 1\nb: '{% if x %}'\n", `line 4: "{%" starts template syntax`},
		{"template comment by accident", "## template: jinja\n#cloud-config\nruncmd: ['echo ${#x}']\n", `line 3: "{#" starts`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse([]byte(test.data), "m1")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// self is the owner who may always be set: whoever runs the tests.
func self(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Uid + ":" + u.Gid
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "old"), []byte("old,"), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := self(t)
	data := `#cloud-config
packages: [x]
write_files:
- {path: /order, content: "deferred,", defer: true, append: true, owner: "` + owner + `"}
- {path: /order, content: "first,", owner: "` + owner + `"}
- {path: /old, content: new, append: true, permissions: "0640", owner: "` + owner + `"}
- {path: /deep/er/file, content: x, permissions: "0751", owner: "` + owner + `"}
runcmd:
- cd ` + root + `
- [sh, -c, "echo \"$1\" >> order", sh, "it's a list"]
- echo 'to the log'; false
- cat old; test -x deep/er/file
`
	var log bytes.Buffer
	if err := Run(t.Context(), []byte(data), "m1", root, &log); err != nil {
		t.Fatal(err)
	}
	if want := "cloud-init: the key \"packages\" has no effect on a lab machine\nto the log\nold,new"; log.String() != want {
		t.Errorf("log %q, want %q", &log, want)
	}
	for name, want := range map[string]string{"order": "first,deferred,it's a list\n", "old": "old,new", "deep/er/file": "x"} {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]fs.FileMode{"old": 0o640, "deep/er/file": 0o751, "deep/er": fs.ModeDir | 0o755} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestRunStops(t *testing.T) {
	owner := self(t)
	for _, test := range []struct{ name, data, want string }{
		{"at a document it cannot read", "#cloud-config\nwrite_files: [{path: /made, owner: '" + owner + "'}]\nruncmd: [[[]]]\n", "runcmd, entry 1"},
		{"at an unknown owner", "#cloud-config\nwrite_files: [{path: /sub, owner: 'nobody-of-that-name:x'}]\nruncmd: [touch $ROOT/made]\n", `write /sub: owner "nobody-of-that-name:x": user: unknown user`},
		{"at an unknown group", "#cloud-config\nwrite_files: [{path: /sub, owner: '0:no-such-group'}]\nruncmd: [touch $ROOT/made]\n", "group: unknown group no-such-group"},
		{"at a path that is in the way", "#cloud-config\nwrite_files: [{path: /file/sub, owner: '" + owner + "'}]\nruncmd: [touch $ROOT/made]\n", "write /file/sub: "},
		{"with the script's exit code", "#cloud-config\nruncmd: ['echo said', exit 7]\n", "runcmd: exit status 7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv("ROOT", root)
			if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			err := Run(t.Context(), []byte(test.data), "m1", root, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(root, "made")); err == nil {
				t.Error("it went on after the fault")
			}
		})
	}
}
