package probe

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Population remembers every object of some kinds that was ever there, and those that left, however shortly.
type Population struct {
	mu   sync.Mutex
	ever map[types.UID]string
	left map[types.UID]string
}

// FollowPopulation starts following the objects of these kinds until ctx ends.
func FollowPopulation(ctx context.Context, c client.WithWatch, kinds []schema.GroupVersionKind, opts ...client.ListOption) *Population {
	p := &Population{ever: map[types.UID]string{}, left: map[types.UID]string{}}
	for _, kind := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		go follow(ctx, c, list, opts, func(s seen) { p.take(kind.Kind, s) })
	}
	return p
}

func (p *Population) take(kind string, s seen) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := kind + " " + s.object.GetName()
	p.ever[s.object.GetUID()] = name
	if s.gone || s.object.GetDeletionTimestamp() != nil {
		p.left[s.object.GetUID()] = name
	}
}

// Ever is the number of objects that were ever there.
func (p *Population) Ever() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ever)
}

// Changes words in order what came beside the objects of those identities, and what left or was told to.
func (p *Population) Changes(known map[types.UID]bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for id, name := range p.ever {
		if !known[id] {
			out = append(out, name+" came")
		}
	}
	for _, name := range p.left {
		out = append(out, name+" left")
	}
	slices.Sort(out)
	return out
}
