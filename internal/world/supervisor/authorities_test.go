package supervisor_test

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/supervisor"
)

func newCA(t *testing.T) secrets.CAPair {
	t.Helper()
	c := fake.NewFakeClient()
	pair, err := secrets.EnsureCA(t.Context(), c, c, client.ObjectKey{Namespace: "demo", Name: "c"}, secrets.EtcdCA, metav1.OwnerReference{})
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// bootstrap is the answer of RKE2 to a server that joins, cut down to a few of its files.
func bootstrap(clients, peers secrets.CAPair) string {
	file := func(content []byte) string {
		return fmt.Sprintf(`{"Timestamp":"2026-01-02T03:04:05.000000006Z","Content":%q}`, base64.StdEncoding.EncodeToString(content))
	}
	return `{"ClientCA":` + file([]byte("not asked for")) + `,"ETCDServerCA":` + file(clients.Cert) + `,"ETCDServerCAKey":` + file(clients.Key) +
		`,"ETCDPeerCA":` + file(peers.Cert) + `,"ETCDPeerCAKey":` + file(peers.Key) + `,"EncryptionConfig":` + file([]byte("{}")) + `}`
}

func TestEtcdAuthorities(t *testing.T) {
	clients, peers := newCA(t), newCA(t)
	url, authority := start(t, bootstrap(clients, peers))
	for _, token := range []string{"pw", "K10abc::server:pw"} {
		gotClients, gotPeers, err := supervisor.EtcdAuthorities(t.Context(), url, authority, token)
		if err != nil || !reflect.DeepEqual(gotClients, clients) || !reflect.DeepEqual(gotPeers, peers) {
			t.Errorf("%s: %v", token, err)
		}
	}
}

func TestEtcdAuthoritiesFails(t *testing.T) {
	good, other := newCA(t), newCA(t)
	for name, c := range map[string]struct{ answer, token, want string }{
		"another token":         {bootstrap(good, good), "s3cret", "401"},
		"something else":        {"<html>s3cret", "pw", "can't be read"},
		"no base64":             {`{"ETCDServerCAKey":{"Content":"s3cret!"}}`, "pw", "can't be read"},
		"another datastore":     {`{"ClientCA":{"Content":"YQ=="}}`, "pw", "are not a certificate and its private key"},
		"a key of another":      {bootstrap(good, secrets.CAPair{Cert: good.Cert, Key: other.Key}), "pw", "of etcd's members"},
		"no authority of peers": {bootstrap(good, secrets.CAPair{}), "pw", "of etcd's members"},
		"no key":                {bootstrap(secrets.CAPair{Cert: good.Cert}, good), "pw", "of etcd's clients"},
	} {
		t.Run(name, func(t *testing.T) {
			url, authority := start(t, c.answer)
			clients, peers, err := supervisor.EtcdAuthorities(t.Context(), url, authority, c.token)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
			if clients.Key != nil || peers.Key != nil {
				t.Error("half an answer")
			}
		})
	}
}
