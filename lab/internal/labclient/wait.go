package labclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/manifest"
)

// Apply applies manifests to the management cluster.
func (l *Lab) Apply(ctx context.Context, objects []manifest.Object) error {
	c, err := l.Client()
	if err != nil {
		return err
	}
	return manifest.Apply(ctx, c, objects)
}

// errWatchEnded is the cause when the API server ended a watch; another one may be started.
var errWatchEnded = errors.New("the API server ended the watch")

// Await follows the objects of a list until done returns true for one of them.
// The list's type says which kind, and opts which of them.
func Await[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, done func(T) bool, opts ...client.ListOption) error {
	for {
		err := awaitOnce(ctx, c, list, done, opts...)
		if !errors.Is(err, errWatchEnded) {
			return err
		}
	}
}

func awaitOnce[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, done func(T) bool, opts ...client.ListOption) error {
	// A watch without a resource version begins with what exists.
	watcher, err := c.Watch(ctx, list, opts...)
	if err != nil {
		return err
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
			if object, ok := event.Object.(T); ok && done(object) {
				return nil
			}
		}
	}
}

// WaitAvailable waits until the Cluster says that it is Available, and reports
// in between what it says.
func (l *Lab) WaitAvailable(ctx context.Context, cluster client.ObjectKey, report func(string)) error {
	c, err := l.Client()
	if err != nil {
		return err
	}
	last := "nothing yet"
	err = Await(ctx, c, &clusterv1.ClusterList{}, func(object *clusterv1.Cluster) bool {
		condition := conditions.Get(object, clusterv1.AvailableCondition)
		if condition == nil {
			return false
		}
		if condition.Status == metav1.ConditionTrue && condition.ObservedGeneration == object.Generation {
			return true
		}
		if said := oneLine(condition.Message); said != last {
			last = said
			report(said)
		}
		return false
	}, client.InNamespace(cluster.Namespace), client.MatchingFields{"metadata.name": cluster.Name})
	if err != nil {
		return fmt.Errorf("cluster %s is not available: %w; it says: %s", cluster, err, last)
	}
	return nil
}

// oneLine joins the bullet points of a condition's message.
func oneLine(message string) string {
	var parts []string
	for line := range strings.Lines(message) {
		parts = append(parts, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "* ")))
	}
	return strings.Join(parts, "; ")
}
