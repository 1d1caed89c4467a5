package labclient

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
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

// WaitAvailable waits until the Cluster says that it is Available and all its
// servers and workers are available and up to date. It reports in between what
// is missing.
func (l *Lab) WaitAvailable(ctx context.Context, cluster client.ObjectKey, report func(string)) error {
	c, err := l.Client()
	if err != nil {
		return err
	}
	last := "nothing yet"
	err = Await(ctx, c, &clusterv1.ClusterList{}, func(object *clusterv1.Cluster) bool {
		missing := missing(object)
		if missing != "" && missing != last {
			last = missing
			report(missing)
		}
		return missing == ""
	}, client.InNamespace(cluster.Namespace), client.MatchingFields{"metadata.name": cluster.Name})
	if err != nil {
		return fmt.Errorf("cluster %s is not available: %w; last seen: %s", cluster, err, last)
	}
	return nil
}

// missing tells what a Cluster lacks, "" if nothing.
func missing(cluster *clusterv1.Cluster) string {
	condition := conditions.Get(cluster, clusterv1.AvailableCondition)
	switch {
	case condition == nil || condition.ObservedGeneration != cluster.Generation:
		return "Cluster API has not looked at it yet"
	case condition.Status != metav1.ConditionTrue:
		return oneLine(condition.Message)
	}
	var lacks []string
	if s := cluster.Status.ControlPlane; s != nil {
		lacks = append(lacks, counts("servers", s.DesiredReplicas, s.Replicas, s.AvailableReplicas, s.UpToDateReplicas)...)
	}
	if s := cluster.Status.Workers; s != nil {
		lacks = append(lacks, counts("workers", s.DesiredReplicas, s.Replicas, s.AvailableReplicas, s.UpToDateReplicas)...)
	}
	return strings.Join(lacks, "; ")
}

// counts compares numbers of machines with the desired one; unknown numbers count as 0.
func counts(what string, desired, replicas, available, upToDate *int32) []string {
	want := ptr.Deref(desired, 0)
	if ptr.Deref(replicas, 0) == want && ptr.Deref(available, 0) == want && ptr.Deref(upToDate, 0) == want {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d wanted, %d exist, %d available, %d up to date",
		what, want, ptr.Deref(replicas, 0), ptr.Deref(available, 0), ptr.Deref(upToDate, 0))}
}

// oneLine joins the nested bullet points of a condition's message.
func oneLine(message string) string {
	var out strings.Builder
	for line := range strings.Lines(message) {
		text := strings.TrimPrefix(strings.TrimSpace(line), "* ")
		switch {
		case out.Len() == 0:
		case strings.HasSuffix(out.String(), ":"):
			out.WriteString(" ")
		default:
			out.WriteString("; ")
		}
		out.WriteString(text)
	}
	return out.String()
}
