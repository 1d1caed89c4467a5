package render

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// TestIgnitionContentIsKept gives content that JSON, templates, URLs or compression could change.
func TestIgnitionContentIsKept(t *testing.T) {
	random := make([]byte, 600_000)
	generator := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(generator.UintN(256))
	}
	for _, content := range []string{
		"  leading spaces\n\tand a tab\n", "no newline at the end", "", "\n\n", "{{ not.mine }}\n", "crlf\r\n\r", "%41%zz+a b#?&",
		"\x00binary\xff\xfe", "\ufeffemoji 🐑, \u2028, \u0085", `%{q} "quoted" 'single' \back`, "<&>", "data:,x",
		strings.Repeat("1 MB of\r\n{{ text }}\t\x80", 50_000), string(random),
	} {
		in := ignited(worker())
		in.Config.Files = []bootstrapv1.File{
			{Path: "/literal", Content: content},
			{Path: "/from", ContentFrom: &bootstrapv1.FileSource{}},
		}
		if len(content) > 100_000 {
			in.Config.Files[0].Content = ""
		}
		in.Contents.Files = map[int][]byte{1: []byte(content)}
		got := ignitionFilesOf(t, in)
		if got["/literal"] != "root:root 0644\n"+in.Config.Files[0].Content || got["/from"] != "root:root 0644\n"+content {
			t.Errorf("%.40q became %.40q and %.40q", content, got["/literal"], got["/from"])
		}
	}
}

func TestIgnitionOwnersModesEncodings(t *testing.T) {
	packed, err := compress([]byte("hi"))
	if err != nil {
		t.Fatal(err)
	}
	in := ignited(worker())
	in.Config.Files = []bootstrapv1.File{
		{Path: "/a", Owner: "user", Permissions: "0o640", Encoding: bootstrapv1.Base64, Content: "aG\nk=\n"},
		{Path: "/b", Owner: "user:group", Permissions: "7", Encoding: bootstrapv1.Gzip, ContentFrom: &bootstrapv1.FileSource{}},
		{Path: "/c", Owner: "1000:0", Encoding: bootstrapv1.GzipBase64, Content: base64.StdEncoding.EncodeToString(packed)},
		{Path: "/d", Owner: ":group", Permissions: "0600", Content: "hi"},
	}
	in.Contents.Files = map[int][]byte{1: packed}
	got := ignitionFilesOf(t, in)
	for path, want := range map[string]string{
		"/a": "user:root 0640\nhi", "/b": "user:group 0007\nhi", "/c": "1000:0 0644\nhi", "/d": "root:group 0600\nhi",
	} {
		if diff := cmp.Diff(want, got[path]); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
}

func TestIgnitionRefusesFiles(t *testing.T) {
	for want, file := range map[string]bootstrapv1.File{
		"files (/a/../b): write the path as /b":                                                                        {Path: "/a/../b"},
		"files (/a/): write the path as /a":                                                                            {Path: "/a/"},
		`files (/a): permissions "4755": Ignition sets no setu`:                                                        {Path: "/a", Permissions: "4755"},
		"files (/a): the content is not base64, which encoding:":                                                       {Path: "/a", Encoding: bootstrapv1.Base64, Content: "hunter2!"},
		"files (/a): the content is not gzip, which encoding: g":                                                       {Path: "/a", Encoding: bootstrapv1.Gzip, Content: "hunter2!"},
		"files (/b): the content is not gzip, which encoding: g":                                                       {Path: "/b", Encoding: bootstrapv1.GzipBase64, Content: "H4sI"},
		"files, or agentConfig.additionalUserData.config: /etc/rancher has to be a folder, because /etc/rancher/rke2/": {Path: "/etc/rancher"},
		"files: /etc/rancher/rke2/config.yaml is written by the":                                                       {Path: configPath},
	} {
		in := ignited(worker())
		in.Config.Files = []bootstrapv1.File{file}
		_, err := Bootstrap(in)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error holds content: %v", err)
		}
	}
}

func ignitionFilesOf(t *testing.T, in Input) map[string]string {
	t.Helper()
	config := parseIgnition(t, mustBootstrap(t, in))
	files := map[string]string{}
	for _, f := range config.Storage.Files {
		files[f.Path] = describeIgnition(t, &f)
	}
	return files
}
