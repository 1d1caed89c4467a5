package supervisor_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/supervisor"
)

// start is a supervisor with the password "pw", and with one answer.
func start(t *testing.T, answer string) (url string, authority []byte) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	forServers := func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "server" || password != "pw" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(answer))
	}
	mux.HandleFunc("GET /db/info", forServers)
	mux.HandleFunc("GET /v1-rke2/server-bootstrap", forServers)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestMembers(t *testing.T) {
	const list = `{"members":[{"ID":17293822569102704642,"name":"n1-0000000a","peerURLs":["https://10.0.0.1:2380"],"clientURLs":["https://10.0.0.1:2379"]},{"ID":2,"isLearner":true}]}`
	url, authority := start(t, list)
	for _, token := range []string{"pw", "K10abc::server:pw"} {
		got, err := supervisor.Members(t.Context(), url, authority, token)
		want := []etcd.Member{{ID: 17293822569102704642, Name: "n1-0000000a", PeerURLs: []string{"https://10.0.0.1:2380"}}, {ID: 2, Learner: true}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestMembersFails(t *testing.T) {
	for name, c := range map[string]struct{ info, token, want string }{
		"another token":   {`{}`, "s3cret", "401"},
		"half a token":    {`{}`, "K10s3cret", "K10"},
		"no ID":           {`{"members":[{"name":"n1"}]}`, "pw", "without an ID"},
		"no list":         {`{"members":[]}`, "pw", "no members"},
		"something else":  {`<html>`, "pw", "can't be read"},
		"another version": {`[]`, "pw", "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			url, authority := start(t, c.info)
			_, err := supervisor.Members(t.Context(), url, authority, c.token)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestPing(t *testing.T) {
	url, authority := start(t, "")
	if err := supervisor.Ping(t.Context(), url, authority); err != nil {
		t.Error(err)
	}
	if err := supervisor.Ping(t.Context(), url, []byte("none")); err == nil {
		t.Error("no authority")
	}
	stranger, _ := start(t, "")
	_, other := start(t, "")
	if err := supervisor.Ping(t.Context(), stranger+"/x", other); err == nil {
		t.Error("a path that is not there")
	}
	if got, want := supervisor.URL("fd00::1"), "https://[fd00::1]:9345"; got != want {
		t.Errorf("%s", got)
	}
}
