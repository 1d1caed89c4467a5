package guest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestWatchBootstrap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster-api")
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan BootstrapResult)
	ended := make(chan error)
	go func() {
		ended <- watchBootstrap(ctx, dir, func(result BootstrapResult) { told <- result })
	}()
	expect := func(what string, want BootstrapResult) {
		t.Helper()
		select {
		case got := <-told:
			if got != want {
				t.Errorf("%s: told %+v, want %+v", what, got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s: nothing was told", what)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	sentinel, failure := filepath.Join(dir, "bootstrap-success.complete"), filepath.Join(dir, "bootstrap-failure")
	do(os.Mkdir(dir, 0o755))
	do(os.WriteFile(filepath.Join(dir, "bootstrap.log"), []byte("not of interest"), 0o600))
	do(os.WriteFile(failure, []byte("step: install\n"), 0o600))
	expect("a failure", BootstrapResult{State: BootFailed, Message: "step: install"})
	do(os.Remove(failure))
	expect("another attempt", BootstrapResult{State: BootPending})
	do(os.WriteFile(sentinel, []byte("success\n"), 0o600))
	expect("success", BootstrapResult{State: BootSucceeded})
	do(os.WriteFile(failure, []byte("step: postRKE2Commands[0]\n"), 0o600))
	do(os.Remove(sentinel))
	expect("no sentinel any more", BootstrapResult{State: BootFailed, Message: "step: postRKE2Commands[0]"})
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("it goes on after its context has ended")
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"short\n", "short"},
		{strings.Repeat("a", 40), strings.Repeat("a", 40)},
		{"begin" + strings.Repeat("-", 100) + "end", "begin-----\n[...]\n" + strings.Repeat("-", 20) + "end"},
		{strings.Repeat("ä", 50), strings.Repeat("ä", 5) + "\n[...]\n" + strings.Repeat("ä", 11)},
		{"not \xff text", "not  text"},
	} {
		got := shorten(test.text, 40)
		if got != test.want || len(got) > 40 || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
}
