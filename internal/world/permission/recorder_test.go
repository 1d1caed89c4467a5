package permission

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/drover-project/drover/internal/model"
)

// Every refused request is noted with what it needed, behind a path prefix, too.
func TestRecorder(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Has("allowed") {
			return
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	var r Recorder
	for cluster, prefix := range map[string]string{Management: "", Workload: "/k8s/clusters/c-1"} {
		config := &rest.Config{Host: server.URL + prefix}
		r.Watch(cluster, config)
		c, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range []struct{ method, path string }{
			{"GET", "/api/v1/namespaces/demo/secrets/c-etcd"},
			{"GET", "/api/v1/namespaces/demo/secrets/c-ca"},
			{"GET", "/api/v1/namespaces/demo/secrets/c-ca"},
			{"GET", "/api/v1/namespaces/demo/secrets/c-token?allowed"},
			{"GET", "/apis/cluster.x-k8s.io/v1beta2/namespaces/demo/machines"},
			{"GET", "/api/v1/nodes/n1"},
			{"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"},
			{"GET", "/api/v1/namespaces/kube-system/pods/etcd-n1/portforward"},
			{"POST", "/api/v1/namespaces/kube-system/pods/etcd-n1/portforward"},
			{"GET", "/version"},
		} {
			req, err := http.NewRequestWithContext(t.Context(), call.method, server.URL+prefix+call.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	}
	of := func(cluster string) []model.Denied {
		return []model.Denied{
			{Cluster: cluster, Verb: "get", Resource: "nodes"},
			{Cluster: cluster, Verb: "list", Resource: "pods"},
			{Cluster: cluster, Verb: "get", Resource: "secrets", Namespace: "demo", Names: []string{"c-ca", "c-etcd"}},
			{Cluster: cluster, Verb: "list", Group: "cluster.x-k8s.io", Resource: "machines", Namespace: "demo"},
			{Cluster: cluster, Verb: "create", Resource: "pods/portforward", Namespace: "kube-system", Names: []string{"etcd-n1"}},
		}
	}
	if diff := cmp.Diff(append(of(Management), of(Workload)...), r.Denied()); diff != "" {
		t.Error(diff)
	}
	r.Clear()
	if len(r.Denied()) != 0 {
		t.Error("nothing was forgotten")
	}
}
