package probe

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// watchSeconds is how long one watch request lasts. A watch on an apiserver whose etcd is gone stays open and
	// silent, so it is renewed often.
	watchSeconds = 10
	// rewatchPause keeps a broken connection from turning into a busy loop.
	rewatchPause = 150 * time.Millisecond
	listTimeout  = 5 * time.Second
)

// seen is one change of a watched object. Revision is 0, and written is zero, when the moment of the change was missed;
// nobody stamps a deletion either.
type seen struct {
	object   client.Object
	gone     bool
	revision int64
	written  time.Time
}

// follow lists and watches until ctx ends and calls tell for every change, in order, on one goroutine. Between two
// watches it continues at the last revision, so nothing is missed; only when that is too old it lists again.
func follow(ctx context.Context, c client.WithWatch, list client.ObjectList, opts []client.ListOption, tell func(seen)) {
	known := map[string]client.Object{}
	revision := ""
	for ctx.Err() == nil {
		if revision == "" {
			revision = relist(ctx, c, list, opts, known, tell)
		}
		if revision != "" {
			revision = watchOnce(ctx, c, list, opts, revision, known, tell)
		}
		select {
		case <-ctx.Done():
		case <-time.After(rewatchPause):
		}
	}
}

// relist returns the revision of a new list, or "" when it failed.
func relist(ctx context.Context, c client.WithWatch, list client.ObjectList, opts []client.ListOption, known map[string]client.Object, tell func(seen)) string {
	listCtx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	fresh := list.DeepCopyObject().(client.ObjectList)
	if err := c.List(listCtx, fresh, opts...); err != nil {
		return ""
	}
	present := map[string]bool{}
	_ = meta.EachListItem(fresh, func(o runtime.Object) error {
		obj := o.DeepCopyObject().(client.Object)
		id := client.ObjectKeyFromObject(obj).String()
		present[id] = true
		known[id] = obj
		tell(seen{object: obj})
		return nil
	})
	for id, obj := range known {
		if !present[id] {
			delete(known, id)
			tell(seen{object: obj, gone: true})
		}
	}
	return fresh.GetResourceVersion()
}

// watchOnce returns the revision to go on from, or "" to list again.
func watchOnce(ctx context.Context, c client.WithWatch, list client.ObjectList, opts []client.ListOption, revision string, known map[string]client.Object, tell func(seen)) string {
	seconds := int64(watchSeconds)
	raw := &client.ListOptions{}
	raw.ApplyOptions(opts)
	raw.Raw = &metav1.ListOptions{ResourceVersion: revision, TimeoutSeconds: &seconds, AllowWatchBookmarks: true}
	watchCtx, cancel := context.WithTimeout(ctx, (watchSeconds+3)*time.Second)
	defer cancel()
	w, err := c.Watch(watchCtx, list, raw)
	if err != nil {
		if apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
			return ""
		}
		return revision
	}
	defer w.Stop()
	for {
		var event watch.Event
		var open bool
		select {
		case <-watchCtx.Done():
			return revision
		case event, open = <-w.ResultChan():
		}
		if !open {
			return revision
		}
		obj, isObject := event.Object.(client.Object)
		if event.Type == watch.Error || !isObject {
			if err := apierrors.FromObject(event.Object); apierrors.IsGone(err) || apierrors.IsResourceExpired(err) {
				return ""
			}
			return revision
		}
		revision = obj.GetResourceVersion()
		if event.Type == watch.Bookmark {
			continue
		}
		id := client.ObjectKeyFromObject(obj).String()
		gone := event.Type == watch.Deleted
		change := seen{object: obj, gone: gone, revision: number(revision)}
		if gone {
			delete(known, id)
		} else {
			known[id] = obj
			change.written = written(obj)
		}
		tell(change)
	}
}

// dated adds to an event what is known of the moment of its change.
func (s seen) dated(e timeline.Event) timeline.Event {
	switch e.Kind {
	case timeline.MachineDeleting, timeline.HookReleased, timeline.PodTerminating:
		// What takes something away, or asks for a deletion, is not stamped: the stamp is that of an earlier write.
	default:
		e.Written = s.written
	}
	return e
}

// written is when the API server last set a field of an object, in whole seconds: it stamps the fields' owner.
func written(o client.Object) time.Time {
	var last time.Time
	for _, f := range o.GetManagedFields() {
		if f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}

// number reads a resourceVersion, which is a whole number since Kubernetes 1.35 by promise and before by habit.
func number(revision string) int64 {
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
