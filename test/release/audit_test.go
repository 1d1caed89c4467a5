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
// for lists of Secrets that are not narrowed to those of clusters.
func (p *plane) stayedWithin(t *testing.T, account string) {
	t.Helper()
	for _, e := range p.requests(t, account) {
		if e.ResponseStatus != nil && e.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("%s was forbidden to %s %s", account, e.Verb, e.RequestURI)
		}
		if e.ObjectRef == nil || e.ObjectRef.Resource != "secrets" || e.Verb != "list" && e.Verb != "watch" {
			continue
		}
		address, err := url.Parse(e.RequestURI)
		if err != nil || address.Query().Get("labelSelector") != "cluster.x-k8s.io/cluster-name" {
			t.Errorf("%s asked for Secrets that are not those of clusters: %s %s", account, e.Verb, e.RequestURI)
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

// unused are the rights of a role, as "group/resource verb", that an account
// did not use.
func (p *plane) unused(t *testing.T, account string, role *rbacv1.ClusterRole) []string {
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
	var rights []string
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if right := group + "/" + resource + " " + verb; !used[right] {
						rights = append(rights, right)
					}
				}
			}
		}
	}
	slices.Sort(rights)
	return slices.Compact(rights)
}
