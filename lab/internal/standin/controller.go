package standin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/workqueue"

	"github.com/drover-project/drover/lab/internal/standin/member"
)

// lease is the name under which the servers agree who removes members, and
// leaseWithoutEtcd that for the controllers that are left with an external
// datastore.
const (
	lease            = "rke2-etcd"
	leaseWithoutEtcd = "rke2"
)

// runMemberController elects one server to serve removals and the deletion of
// Nodes. Losing the lease ends the service, as in RKE2.
func (s *server) runMemberController(ctx context.Context, stop context.CancelCauseFunc) {
	name := lease
	if s.dataAreElsewhere() {
		name = leaseWithoutEtcd
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem}, Client: s.kube.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: s.name},
	}
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 45 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { newMemberController(s).run(ctx) },
			OnStoppedLeading: func() {
				if ctx.Err() == nil {
					stop(errLostLease)
				}
			},
		},
	})
}

// memberController serves the removal annotation and the deletion of Nodes.
type memberController struct {
	*server
	store cache.Store
	queue workqueue.TypedRateLimitingInterface[string]
}

func newMemberController(s *server) *memberController {
	return &memberController{server: s, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](200*time.Millisecond, 10*time.Second),
	)}
}

func (c *memberController) run(ctx context.Context) {
	defer c.queue.ShutDown()
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			c.queue.Add(key)
		}
	}
	source := cache.NewListWatchFromClient(c.kube.CoreV1().RESTClient(), "nodes", "", fields.Everything())
	store, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, now any) { add(now) }, DeleteFunc: add},
	})
	c.store = store
	go informer.RunWithContext(ctx)
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			// A Node that changed meanwhile is no trouble.
			if !apierrors.IsConflict(err) {
				c.log.Info("member controller tries again", "node", key, "error", err)
			}
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

func (c *memberController) reconcile(ctx context.Context, key string) error {
	object, exists, err := c.store.GetByKey(key)
	if err != nil || !exists {
		return err
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return nil
	}
	if node.DeletionTimestamp != nil {
		return c.finalize(ctx, node)
	}
	if strings.EqualFold(node.Annotations[annotationRemove], "true") && node.Annotations[annotationRemoved] == "" && isServer(node) {
		return c.remove(ctx, node)
	}
	return c.ensureFinalizers(ctx, node)
}

// remove takes the Node's member out and records that it did.
func (c *memberController) remove(ctx context.Context, node *corev1.Node) error {
	name, address := node.Annotations[annotationName], node.Annotations[annotationAddress]
	if name == "" || address == "" {
		return errors.New("the Node has no annotations that name its member")
	}
	ctx, cancel := context.WithTimeout(ctx, removalTimeout)
	defer cancel()
	found, err := member.Remove(ctx, c.etcd, name, address)
	if errors.Is(err, rpctypes.ErrMemberNotEnoughStarted) {
		// The last voter is not removed; RKE2 takes the request back.
		return c.patchNode(ctx, node.Name, map[string]any{"annotations": map[string]any{annotationRemove: nil}})
	}
	if err != nil {
		return err
	}
	c.log.Info("removed etcd member", "node", node.Name, "member", name, "found", found)
	return c.patchNode(ctx, node.Name, map[string]any{"annotations": map[string]any{
		annotationRemoved: name, annotationName: nil, annotationAddress: nil,
	}})
}

// finalize lets a deleted Node go after its member is gone.
func (c *memberController) finalize(ctx context.Context, node *corev1.Node) error {
	if isServer(node) && node.Annotations[annotationRemoved] == "" && slices.Contains(node.Finalizers, finalizerEtcd) {
		if err := c.remove(ctx, node); err != nil {
			return err
		}
	}
	rest := slices.DeleteFunc(slices.Clone(node.Finalizers), func(f string) bool { return f == finalizerNode || f == finalizerEtcd })
	if len(rest) == len(node.Finalizers) {
		return nil
	}
	if err := c.forgetPassword(ctx, node.Name); err != nil {
		return err
	}
	if err := c.patchNode(ctx, node.Name, map[string]any{"finalizers": rest}); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// finalizers are those that this cluster's controllers keep on every Node.
func (c *memberController) finalizers() []string {
	if c.dataAreElsewhere() {
		return []string{finalizerNode}
	}
	return []string{finalizerNode, finalizerEtcd}
}

func (c *memberController) ensureFinalizers(ctx context.Context, node *corev1.Node) error {
	missing := false
	want := slices.Clone(node.Finalizers)
	for _, f := range c.finalizers() {
		if !slices.Contains(want, f) {
			want, missing = append(want, f), true
		}
	}
	if !missing {
		return nil
	}
	return c.patchNode(ctx, node.Name, map[string]any{"finalizers": want, "resourceVersion": node.ResourceVersion})
}
