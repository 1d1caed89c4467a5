// Package permission notes which requests an API server refused for lack of a
// permission, so that what is missing can be named exactly.
package permission

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/drover-project/drover/internal/model"
)

// Clusters, as in model.Denied.
const (
	Management = "management"
	Workload   = "workload"
)

// Recorder notes refused requests. The zero value is ready, and safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	denied map[key]map[string]bool
}

type key struct{ cluster, verb, group, resource, namespace string }

// Watch notes what is refused to requests with the configuration.
func (r *Recorder) Watch(cluster string, config *rest.Config) {
	prefix := ""
	if u, err := url.Parse(config.Host); err == nil {
		prefix = strings.TrimSuffix(u.Path, "/")
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &transport{Recorder: r, cluster: cluster, prefix: prefix, next: next}
	})
}

// Denied are the requests that were refused, sorted. Those that differ only in
// the name of the object are one.
func (r *Recorder) Denied() []model.Denied {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]model.Denied, 0, len(r.denied))
	for k, names := range r.denied {
		d := model.Denied{Cluster: k.cluster, Verb: k.verb, Group: k.group, Resource: k.resource, Namespace: k.namespace}
		for name := range names {
			if name != "" {
				d.Names = append(d.Names, name)
			}
		}
		slices.Sort(d.Names)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b model.Denied) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return out
}

// Clear forgets everything.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = nil
}

type transport struct {
	*Recorder
	cluster, prefix string
	next            http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusForbidden || refusedUpgrade(err) {
		t.note(req)
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// refusedUpgrade tells whether a stream, as for a port-forward, was refused.
func refusedUpgrade(err error) bool {
	var upgrade *httpstream.UpgradeFailureError
	return errors.As(err, &upgrade) && apierrors.ReasonForError(upgrade.Cause) == metav1.StatusReasonForbidden
}

var paths = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

func (t *transport) note(req *http.Request) {
	plain := req.Clone(req.Context())
	plain.URL.Path = strings.TrimPrefix(plain.URL.Path, t.prefix)
	info, err := paths.NewRequestInfo(plain)
	if err != nil || !info.IsResourceRequest {
		return
	}
	k := key{cluster: t.cluster, verb: info.Verb, group: info.APIGroup, resource: info.Resource, namespace: info.Namespace}
	if info.Subresource != "" {
		k.resource += "/" + info.Subresource
	}
	if info.Subresource == "portforward" {
		// Tried in two ways. Opening a stream is a creation: API servers since
		// 1.35 ask for that with either, earlier ones with the second.
		k.verb = "create"
	}
	name := info.Name
	if k.resource == "nodes" || k.namespace == "" {
		name = "" // names of Nodes come and go with their servers
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.denied == nil {
		t.denied = map[key]map[string]bool{}
	}
	if t.denied[k] == nil {
		t.denied[k] = map[string]bool{}
	}
	t.denied[k][name] = true
}
