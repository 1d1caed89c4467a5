package release

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// requests reads what an account asked the API server for.
func (p *plane) requests(t *testing.T, account string) []auditv1.Event {
	t.Helper()
	file, err := os.Open(p.audit)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // only read
	var events []auditv1.Event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may still be written
		}
		if event.User.Username == account {
			events = append(events, event)
		}
	}
	if len(events) == 0 {
		t.Errorf("%s asked for nothing", account)
	}
	return events
}

// stayedWithin fails for every request that the account had no right to, and
// for lists of Secrets that are not narrowed to those of clusters or, by its
// name, to that with the certificate of the account's webhooks.
func (p *plane) stayedWithin(t *testing.T, account string) {
	t.Helper()
	namespace := strings.Split(account, ":")[2]
	certificate := strings.TrimSuffix(namespace, "system") + "webhook-certificate"
	for _, e := range p.requests(t, account) {
		if e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("%s was forbidden to %s %s", account, e.Verb, e.RequestURI)
		}
		if e.ObjectRef == nil || e.ObjectRef.Resource != "secrets" || e.Verb != "list" && e.Verb != "watch" {
			continue
		}
		address, err := url.Parse(e.RequestURI)
		if err != nil {
			t.Error(err)
			continue
		}
		ofClusters := address.Query().Get("labelSelector") == "cluster.x-k8s.io/cluster-name"
		own := e.ObjectRef.Namespace == namespace && address.Query().Get("fieldSelector") == "metadata.name="+certificate
		if !ofClusters && !own {
			t.Errorf("%s asked for Secrets that are neither those of clusters nor its own: %s %s", account, e.Verb, e.RequestURI)
		}
	}
}

// touched are the namespaces in which an account read or changed objects.
func (p *plane) touched(t *testing.T, account string) []string {
	t.Helper()
	var namespaces []string
	for _, e := range p.requests(t, account) {
		if e.ObjectRef != nil && e.ObjectRef.Namespace != "" {
			namespaces = append(namespaces, e.ObjectRef.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// clusterWide are the resources of which an account asked for the objects of
// all namespaces.
func (p *plane) clusterWide(t *testing.T, account string) []string {
	t.Helper()
	var resources []string
	for _, e := range p.requests(t, account) {
		if e.ObjectRef != nil && e.ObjectRef.Namespace == "" && e.ObjectRef.Name == "" && e.Verb != "create" {
			resources = append(resources, strings.TrimPrefix(e.ObjectRef.APIGroup+"/"+e.ObjectRef.Resource, "/"))
		}
	}
	slices.Sort(resources)
	return slices.Compact(resources)
}

// unusedHere are the rights to change something that an installation and the
// life of one server do not need, and what needs them.
var unusedHere = map[string]string{
	"/configmaps update": "the lock passes from a Machine that is gone to another",
	"/configmaps delete": "the lock is released when the first server could not be prepared",
	"/secrets update":    "bootstrap data that another manager began are completed",
	"/secrets patch":     "kubeconfigs are renewed, owners are repaired",
	"bootstrap.cluster.x-k8s.io/rke2configs patch":                  "metadata are kept, managed fields of an old version are dropped",
	"bootstrap.cluster.x-k8s.io/rke2configs delete":                 "what was made for a server that could not be created is taken back",
	"infrastructure.cluster.x-k8s.io/* delete":                      "the same",
	"bootstrap.cluster.x-k8s.io/rke2configtemplates patch":          "objects of the old version are stored in the new one",
	"controlplane.cluster.x-k8s.io/rke2controlplanetemplates patch": "the same",
	"apiextensions.k8s.io/customresourcedefinitions/status patch":   "the same",
	"cluster.x-k8s.io/machines create":                              "server-side apply is a patch, and creates when it may",
	"events.k8s.io/events patch":                                    "events that repeat are counted",
}

// usedItsRights fails for rights to change something that the account did not
// use, unless it is known what needs them. That finalizers of owners can be
// updated is asked for by admission and is not a request.
func (p *plane) usedItsRights(t *testing.T, account string, role *rbacv1.ClusterRole) {
	t.Helper()
	used := map[string]bool{}
	for _, e := range p.requests(t, account) {
		if e.ObjectRef == nil {
			continue
		}
		resource := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			resource += "/" + e.ObjectRef.Subresource
		}
		used[e.ObjectRef.APIGroup+"/"+resource+" "+e.Verb] = true
		used[e.ObjectRef.APIGroup+"/* "+e.Verb] = true
	}
	for _, right := range changes(role) {
		if _, known := unusedHere[right]; !used[right] && !known {
			t.Errorf("the role %s grants %q, which nothing uses", role.Name, right)
		}
	}
}

// changes are the rights of a role other than reading, as
// "group/resource verb".
func changes(role *rbacv1.ClusterRole) []string {
	var rights []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					reading := verb == "get" || verb == "list" || verb == "watch"
					if !reading && !strings.HasSuffix(resource, "/finalizers") {
						rights = append(rights, group+"/"+resource+" "+verb)
					}
				}
			}
		}
	}
	return rights
}
