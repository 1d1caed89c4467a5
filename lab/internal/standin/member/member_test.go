package member

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestNameIsKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "etcd")
	name, err := Name(dir, "cp-1")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^cp-1-[0-9a-f]{8}$`).MatchString(name) {
		t.Errorf("name: %q", name)
	}
	if again, err := Name(dir, "cp-1"); err != nil || again != name {
		t.Errorf("again: %q %v", again, err)
	}
	if HasData(dir) {
		t.Error("a name alone is no data")
	}
	if err := os.Mkdir(filepath.Join(dir, "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !HasData(dir) {
		t.Error("data is not seen")
	}
}

func TestDuplicate(t *testing.T) {
	members := []*etcdserverpb.Member{{Name: "cp-1-00000001"}, {Name: "cp-10-00000002"}, {Name: ""}}
	for name, want := range map[string]bool{
		"cp-1-ffffffff":  true,
		"cp-1-00000001":  false, // itself
		"cp-2-00000003":  false,
		"cp-00000004":    false,
		"cp-10-00000005": true,
	} {
		if got := duplicate(members, name); got != want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestHasHost(t *testing.T) {
	urls := []string{"https://10.0.0.1:2380"}
	for host, want := range map[string]bool{"10.0.0.1": true, "10.0.0.10": false, "10.0.0": false, "": false} {
		if got := hasHost(urls, host); got != want {
			t.Errorf("%q: got %v", host, got)
		}
	}
}
