package management

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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
	served := map[string]bool{}
	for {
		err = follow(ctx, c, &apiextensionsv1.CustomResourceDefinitionList{}, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			if slices.Contains(names, crd.Name) {
				served[crd.Name] = established(crd)
			}
			return number(served) == len(names)
		})
		// The API server ends each watch after a while.
		if !errors.Is(err, errWatchEnded) {
			return err
		}
	}
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
