// Package supervisor asks RKE2's supervisor, which every server runs on port
// 9345 beside its API server. It answers also where the kubelet and the API
// server do not.
package supervisor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// Timeout bounds one question.
const Timeout = 3 * time.Second

// mostBytes bounds an answer.
const mostBytes = 1 << 20

// URL is where the supervisor of a server answers.
func URL(address string) string {
	return "https://" + net.JoinHostPort(address, strconv.Itoa(scope.RegistrationPort))
}

// Ping asks the supervisor at a URL whether it is there. That needs no
// credentials, and whoever answers has to have a certificate of the authority,
// a PEM document.
func Ping(ctx context.Context, url string, authority []byte) error {
	_, err := get(ctx, url+"/ping", authority, "")
	return err
}

// Members asks the supervisor at a URL for etcd's member list. The token is the
// one that servers join with; no error holds any of it. RKE2 answers with what
// its own member lists (GET /db/info of k3s's handlers), linearizable, and with
// status 500 when that takes longer than 2 seconds.
func Members(ctx context.Context, url string, authority []byte, token string) ([]etcd.Member, error) {
	password, err := secrets.Password(token)
	if err != nil {
		return nil, err
	}
	body, err := get(ctx, url+"/db/info", authority, password)
	if err != nil {
		return nil, err
	}
	var info struct {
		Members []etcdserverpb.Member `json:"members"`
	}
	if err := json.Unmarshal(body, &info); err != nil {
		return nil, fmt.Errorf("ask the supervisor: its member list can't be read: %w", err)
	}
	out := make([]etcd.Member, 0, len(info.Members))
	for i := range info.Members {
		m := &info.Members[i]
		if m.ID == 0 {
			return nil, errors.New("ask the supervisor: it lists a member without an ID")
		}
		out = append(out, etcd.Member{ID: m.ID, Name: m.Name, PeerURLs: m.PeerURLs, Learner: m.IsLearner})
	}
	if len(out) == 0 {
		return nil, errors.New("ask the supervisor: it lists no members")
	}
	return out, nil
}

// EtcdAuthorities asks the supervisor at a URL for the authorities that etcd's
// certificates come from: that of its clients and servers, and that of its
// members among themselves. They are secrets, and no error holds any of them.
//
// RKE2 gives them to every server that joins, among other files of its own, each
// under the name it has in k3s's ControlRuntimeBootstrap (GET
// /v1-rke2/server-bootstrap of k3s's pkg/bootstrap).
func EtcdAuthorities(ctx context.Context, url string, authority []byte, token string) (clients, peers secrets.CAPair, err error) {
	password, err := secrets.Password(token)
	if err != nil {
		return clients, peers, err
	}
	body, err := get(ctx, url+"/v1-rke2/server-bootstrap", authority, password)
	if err != nil {
		return clients, peers, err
	}
	type file struct{ Content []byte }
	var files struct {
		ETCDServerCA, ETCDServerCAKey, ETCDPeerCA, ETCDPeerCAKey file
	}
	if err := json.Unmarshal(body, &files); err != nil {
		return clients, peers, errors.New("ask the supervisor: what it gives to servers that join can't be read") // the cause may quote it
	}
	clients = secrets.CAPair{Cert: files.ETCDServerCA.Content, Key: files.ETCDServerCAKey.Content}
	peers = secrets.CAPair{Cert: files.ETCDPeerCA.Content, Key: files.ETCDPeerCAKey.Content}
	for name, pair := range map[string]secrets.CAPair{"clients": clients, "members": peers} {
		if problem := pair.Problem(time.Now()); problem != "" {
			return secrets.CAPair{}, secrets.CAPair{}, fmt.Errorf("ask the supervisor: the authority of etcd's %s: %s", name, problem)
		}
	}
	return clients, peers, nil
}

func get(ctx context.Context, url string, authority []byte, password string) ([]byte, error) {
	roots, err := secrets.Pool(authority)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the supervisor: %w", err)
	}
	if password != "" {
		request.SetBasicAuth(secrets.ServerUser, password)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the supervisor: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the supervisor: %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		return nil, fmt.Errorf("ask the supervisor: %w", err)
	}
	return body, nil
}
