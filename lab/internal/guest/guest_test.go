package guest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCurl(t *testing.T) {
	for _, test := range []struct {
		args []string
		want download
	}{
		{[]string{"-sfL", "https://get.rke2.io"}, download{url: "https://get.rke2.io", fail: true, silent: true}},
		{[]string{"-sSfL", "u"}, download{url: "u", fail: true}},
		{[]string{"-S", "-s", "u"}, download{url: "u"}},
		{[]string{"-fLo", "file", "u"}, download{url: "u", output: "file", fail: true}},
		{[]string{"-ofile", "u"}, download{url: "u", output: "file"}},
		{[]string{"--output", "file", "--retry", "5", "--fail", "--silent", "u"}, download{url: "u", output: "file", fail: true, silent: true}},
		{[]string{"--output=file", "-H", "X: y", "--connect-timeout", "3", "u"}, download{url: "u", output: "file"}},
		{[]string{"-O", "https://h/dir/name.sh"}, download{url: "https://h/dir/name.sh", output: "name.sh"}},
		{[]string{"-o", "-", "u"}, download{url: "u"}},
		{nil, download{}},
	} {
		if got := parseCurl(test.args); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.args, got, test.want)
		}
	}
}

func TestParseWget(t *testing.T) {
	for _, test := range []struct {
		args []string
		want download
	}{
		{[]string{"-qO-", "https://get.rke2.io"}, download{url: "https://get.rke2.io"}},
		{[]string{"-q", "-O", "file", "u"}, download{url: "u", output: "file"}},
		{[]string{"--output-document=file", "--tries", "3", "u"}, download{url: "u", output: "file"}},
		{[]string{"https://get.rke2.io"}, download{url: "https://get.rke2.io", output: "index.html"}},
	} {
		if got := parseWget(test.args); got != test.want {
			t.Errorf("%q: %+v, want %+v", test.args, got, test.want)
		}
	}
}

func TestContent(t *testing.T) {
	for address, want := range map[string]bool{
		"https://get.rke2.io": true, "https://get.rke2.io/": true, "get.rke2.io": true,
		"https://get.rke2.io/other": false, "https://example.com": false, "https://example.com/get.rke2.io": false, "": false,
	} {
		if _, found := content(address); found != want {
			t.Errorf("%q: found %v, want %v", address, found, want)
		}
	}
}

func TestIsLocal(t *testing.T) {
	for address, want := range map[string]bool{
		"https://10.77.1.1:9345/ping": true, "http://localhost:2381/health": true, "https://[::1]:6443": true,
		"127.0.0.1:2381/metrics": true, "https://get.rke2.io": false, "": false,
	} {
		if got := isLocal(address); got != want {
			t.Errorf("%q: local %v, want %v", address, got, want)
		}
	}
}

func TestInstallScriptIsValidShell(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-n", "install.sh")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}

func TestParseEnvironment(t *testing.T) {
	got := parseEnvironment("# comment\n; comment\n\nA=1\n B=\"two words\" \nC='x=y'\nD=\nnot a line\n=nothing\nE=\"\n")
	want := []string{"A=1", "B=two words", "C=x=y", "D=", "E=\""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		n    int
		want string
	}{{0, ""}, {1, "c\n"}, {2, "b\nc\n"}, {9, "a\nb\nc\n"}} {
		if got := string(lastLines([]byte("a\nb\nc\n"), test.n)); got != test.want {
			t.Errorf("%d: %q, want %q", test.n, got, test.want)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	kept := &tail{limit: 4}
	for _, text := range []string{"ab", "cdef", "g"} {
		if n, err := kept.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	if kept.String() != "defg" {
		t.Errorf("kept %q", kept)
	}
}
