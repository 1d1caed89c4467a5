package certmanager

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// injectAnnotation on an object names the Certificate, NAMESPACE/NAME, whose authority goes into it.
	injectAnnotation = "cert-manager.io/inject-ca-from"
	// authorityKey is the entry of a Certificate's Secret with its authority (PEM).
	authorityKey = "ca.crt"
)

// kind is something that an authority is written into.
type kind struct {
	name string
	new  func() client.Object
	list func() client.ObjectList
	set  func(o client.Object, authority []byte)
}

func injectable() []kind {
	return []kind{
		{
			name: "mutating-webhooks",
			new:  func() client.Object { return &admissionv1.MutatingWebhookConfiguration{} },
			list: func() client.ObjectList { return &admissionv1.MutatingWebhookConfigurationList{} },
			set: func(o client.Object, authority []byte) {
				webhooks := o.(*admissionv1.MutatingWebhookConfiguration).Webhooks
				for i := range webhooks {
					webhooks[i].ClientConfig.CABundle = authority
				}
			},
		},
		{
			name: "validating-webhooks",
			new:  func() client.Object { return &admissionv1.ValidatingWebhookConfiguration{} },
			list: func() client.ObjectList { return &admissionv1.ValidatingWebhookConfigurationList{} },
			set: func(o client.Object, authority []byte) {
				webhooks := o.(*admissionv1.ValidatingWebhookConfiguration).Webhooks
				for i := range webhooks {
					webhooks[i].ClientConfig.CABundle = authority
				}
			},
		},
		{
			name: "kinds",
			new:  func() client.Object { return &apiextensionsv1.CustomResourceDefinition{} },
			list: func() client.ObjectList { return &apiextensionsv1.CustomResourceDefinitionList{} },
			set: func(o client.Object, authority []byte) {
				conversion := o.(*apiextensionsv1.CustomResourceDefinition).Spec.Conversion
				if conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
					conversion.Webhook.ClientConfig.CABundle = authority
				}
			},
		},
	}
}

// injector writes authorities into the objects of one kind.
type injector struct {
	client client.Client
	kind   kind
}

func (i *injector) setUp(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).Named("authorities-of-"+i.kind.name).
		For(i.kind.new()).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(i.concerned)).
		Complete(i)
}

// concerned returns the objects that want what is in the Secret.
func (i *injector) concerned(ctx context.Context, secret client.Object) []reconcile.Request {
	name := secret.GetAnnotations()[certificateAnnotation]
	if name == "" {
		return nil
	}
	list := i.kind.list()
	if err := i.client.List(ctx, list); err != nil {
		// The list comes from this process's own memory.
		ctrl.LoggerFrom(ctx).Error(err, "objects that want an authority", "secret", client.ObjectKeyFromObject(secret))
		return nil
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		if o := item.(client.Object); o.GetAnnotations()[injectAnnotation] == secret.GetNamespace()+"/"+name {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return requests
}

// Reconcile writes the authority into one object that asks for it.
func (i *injector) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o := i.kind.new()
	if err := i.client.Get(ctx, request.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	from, wanted := o.GetAnnotations()[injectAnnotation]
	if !wanted || o.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	authority, err := i.authority(ctx, from)
	if err != nil || authority == nil {
		return reconcile.Result{}, err
	}
	before := o.DeepCopyObject().(client.Object)
	i.kind.set(o, authority)
	patch := client.MergeFrom(before)
	if data, err := patch.Data(o); err != nil || string(data) == noChange {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreNotFound(i.client.Patch(ctx, o, patch))
}

// authority returns the authority of a Certificate, or nil while it has none;
// its Secret brings the objects back.
func (i *injector) authority(ctx context.Context, from string) ([]byte, error) {
	namespace, name, ok := strings.Cut(from, "/")
	if !ok {
		return nil, reconcile.TerminalError(fmt.Errorf("%s must be NAMESPACE/NAME, not %q", injectAnnotation, from))
	}
	certificate := object("Certificate")
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, certificate); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	secret := &corev1.Secret{}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secretName(certificate)}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret.Data[authorityKey], err
}
