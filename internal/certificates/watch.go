package certificates

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A round that failed is repeated after the first of these times, and later
// and later up to the second.
const firstRepeat, lastRepeat = time.Second, time.Minute

// run keeps everything until the context ends: it does a round at the
// beginning, whenever one of the objects is changed by anybody, and when the
// certificate has to be renewed.
func (k *keeper) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var informers sync.WaitGroup
	defer informers.Wait()
	defer cancel()
	c, err := controller.NewUnmanaged("webhook-certificate", controller.Options{
		Reconciler: reconcile.Func(k.reconcile), ReconciliationTimeout: roundLimit,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRepeat, lastRepeat),
		Logger:      ctrl.LoggerFrom(ctx),
		// A process may serve in several places.
		SkipNameValidation: ptr.To(true),
	})
	if err != nil {
		return fmt.Errorf("keep the webhooks' certificate: %w", err)
	}
	// Whatever happens, everything is looked at.
	all := reconcile.Request{NamespacedName: k.options.key()}
	sources := []source.Source{source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(all)
		return nil
	})}
	look := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{all} })
	for _, informer := range k.informers() {
		sources = append(sources, &source.Informer{Informer: informer, Handler: look})
		informers.Go(func() { informer.RunWithContext(ctx) })
	}
	for _, source := range sources {
		if err := c.Watch(source); err != nil {
			return fmt.Errorf("keep the webhooks' certificate: %w", err)
		}
	}
	return c.Start(ctx)
}

// reconcile implements reconcile.Reconciler.
func (k *keeper) reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	next, err := k.round(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: max(next.Sub(k.options.now()), firstRepeat)}, nil
}

// informers watch the metadata of every object by its name. That it was changed
// is all they have to tell: what it holds is read when it is needed, and not
// kept in memory.
func (k *keeper) informers() []toolscache.SharedIndexInformer {
	var informers []toolscache.SharedIndexInformer
	for _, objects := range []struct {
		kind      schema.GroupVersionResource
		namespace string
		names     []string
	}{
		{corev1.SchemeGroupVersion.WithResource("secrets"), k.options.Namespace, []string{k.options.Secret}},
		{admissionv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations"), "", k.options.Mutating},
		{admissionv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations"), "", k.options.Validating},
		{apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), "", k.options.Converted},
	} {
		for _, name := range objects.names {
			informers = append(informers, metadatainformer.NewFilteredMetadataInformer(k.watched, objects.kind, objects.namespace, 0, nil,
				func(o *metav1.ListOptions) {
					o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
				}).Informer())
		}
	}
	return informers
}
