package model

import (
	"strings"
	"time"
)

// Obstacle is one object that was found to keep a Machine from going on, beyond
// what a Snapshot holds: a pod that is not evicted, a volume that is still
// attached, a finalizer. It is shown to people and never decided on.
type Obstacle struct {
	// Machine is the Machine that is held up.
	Machine string `json:"machine"`
	// Kind and Name identify the object, as in "Pod" "shop/cart-0".
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Why says what about the object holds it up.
	Why string `json:"why"`
	// Since is when it began, zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Stuck is true when the obstacle does not end by itself: somebody has to
	// do something.
	Stuck bool `json:"stuck,omitzero"`
	// Unblock says what would end it.
	Unblock string `json:"unblock"`
}

// Denied is a request that an API server refused for lack of a permission.
type Denied struct {
	// Cluster is "management" or "workload".
	Cluster string `json:"cluster"`
	Verb    string `json:"verb"`
	// Group is the API group, empty for the core one.
	Group string `json:"group,omitzero"`
	// Resource is the plural, with its subresource after a slash.
	Resource string `json:"resource"`
	// Namespace is empty for a resource without one, or for all namespaces.
	Namespace string `json:"namespace,omitzero"`
	// Names are the objects that were asked for, sorted; none for a list.
	Names []string `json:"names,omitzero"`
}

// Rule is the rule that an RBAC role would need, in one line of YAML.
func (d Denied) Rule() string {
	var b strings.Builder
	b.WriteString(`{apiGroups: ["` + d.Group + `"], resources: ["` + d.Resource + `"], verbs: ["` + d.Verb + `"]`)
	if len(d.Names) > 0 {
		b.WriteString(`, resourceNames: ["` + strings.Join(d.Names, `", "`) + `"]`)
	}
	return b.String() + "}"
}

// Where says in which cluster and namespace the permission is missing.
func (d Denied) Where() string {
	if d.Namespace == "" {
		return "the " + d.Cluster + " cluster"
	}
	return "namespace " + d.Namespace + " of the " + d.Cluster + " cluster"
}
