package management

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// discoveryPeriod is how often is looked whether clients are told of a kind.
const discoveryPeriod = 250 * time.Millisecond

// AwaitNodes returns once that many Nodes are ready. ctx bounds the wait.
func (p *Plane) AwaitNodes(ctx context.Context, count int) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := p.installClient()
	if err != nil {
		return err
	}
	ready := map[string]bool{}
	err = follow(ctx, c, &corev1.NodeList{}, func(node *corev1.Node) bool {
		ready[node.Name] = slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		return number(ready) >= count
	})
	if err != nil {
		return fmt.Errorf("%d of %d nodes are ready: %w", number(ready), count, err)
	}
	return nil
}

// AwaitKinds returns once all these kinds, named as their definitions are, are
// served. It waits as long as ctx lets it.
func (p *Plane) AwaitKinds(ctx context.Context, names ...string) error {
	c, err := p.installClient()
	if err != nil {
		return err
	}
	served, kinds := map[string]bool{}, map[string]schema.GroupKind{}
	for {
		err = follow(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			if slices.Contains(names, crd.Name) {
				served[crd.Name] = established(crd)
				kinds[crd.Name] = schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
			}
			return number(served) == len(names)
		})
		// The API server ends each watch after a while.
		if err == nil {
			return p.awaitDiscovery(ctx, slices.Collect(maps.Values(kinds)))
		}
		if !errors.Is(err, errWatchEnded) {
			return err
		}
	}
}

// awaitDiscovery returns once clients are told of the kinds: on a busy computer that comes noticeably after the
// condition of their definitions.
func (p *Plane) awaitDiscovery(ctx context.Context, kinds []schema.GroupKind) error {
	tick := time.NewTicker(discoveryPeriod)
	defer tick.Stop()
	for {
		err := p.discover(kinds)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func (p *Plane) discover(kinds []schema.GroupKind) error {
	config := p.REST()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("discover kinds: %w", err)
	}
	defer httpClient.CloseIdleConnections()
	// A mapper remembers what it was told, so each look takes a new one.
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return fmt.Errorf("discover kinds: %w", err)
	}
	for _, kind := range kinds {
		if _, err := mapper.RESTMapping(kind); err != nil {
			return fmt.Errorf("discover %s: %w", kind, err)
		}
	}
	return nil
}

func number(set map[string]bool) int {
	n := 0
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

var errWatchEnded = errors.New("the API server ended the watch")

// follow calls seen for every object that is there, and for each that changes,
// until it returns true.
func follow[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, seen func(T) bool) error {
	// Without a resource version the watch begins with everything that exists.
	watcher, err := c.Watch(ctx, list)
	if err != nil {
		return fmt.Errorf("follow objects: %w", err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-watcher.ResultChan():
			if !open {
				return errWatchEnded
			}
			if o, ok := event.Object.(T); ok && event.Type != watch.Deleted && seen(o) {
				return nil
			}
		}
	}
}
