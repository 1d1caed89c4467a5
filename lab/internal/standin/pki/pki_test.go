package pki

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, p Pair) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(p.Cert)
	if block == nil {
		t.Fatal("no PEM")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnsureKeepsWhatIsThere(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	own, err := newAuthority("custom")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(ServerCA, own); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := store.Ensure(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := store.Read(ServerCA); err != nil || string(got.Cert) != string(own.Cert) {
		t.Errorf("the custom authority was replaced: %v", err)
	}
	for _, name := range append([]string{ServiceKey}, Authorities...) {
		if _, err := store.Read(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Stat(store.Path(name) + ".key")
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("key of %s: %v %v", name, info, err)
		}
	}
}

func TestHalfAnAuthorityIsRefused(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	own, err := newAuthority("custom")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(EtcdPeerCA, Pair{Cert: own.Cert}); err != nil {
		t.Fatal(err)
	}
	if err := store.Ensure(); err == nil || !strings.Contains(err.Error(), filepath.Join(store.Dir, "etcd/peer-ca.key")) {
		t.Errorf("got %v", err)
	}
}

func TestForeignKeyIsRefused(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	one, err := newAuthority("one")
	if err != nil {
		t.Fatal(err)
	}
	other, err := newAuthority("other")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(ServerCA, Pair{Cert: one.Cert, Key: other.Key}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Issue(ServerCA, Subject{Name: "x"}); err == nil || !strings.Contains(err.Error(), "sign certificate of x") {
		t.Errorf("got %v", err)
	}
}

func TestIssue(t *testing.T) {
	store := Store{Dir: t.TempDir()}
	if err := store.Ensure(); err != nil {
		t.Fatal(err)
	}
	ca, err := store.Read(ServerCA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Cert)

	pair, err := store.Issue(ServerCA, Subject{Name: "server", Groups: []string{"g"}, Hosts: []string{"lab.test", "10.0.0.1", "::1"}})
	if err != nil {
		t.Fatal(err)
	}
	server := parse(t, pair)
	for _, host := range []string{"lab.test", "10.0.0.1", "::1"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if !slices.Equal(server.Subject.Organization, []string{"g"}) || server.Subject.CommonName != "server" {
		t.Errorf("subject: %s", server.Subject)
	}

	pair, err = store.Issue(ServerCA, Subject{Name: "client"})
	if err != nil {
		t.Fatal(err)
	}
	client := parse(t, pair)
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots}); err == nil {
		t.Error("a client without hosts passes for a server")
	}
}
