// Package outside reads a management cluster with the rights of a person: what
// may not be read is left out where something can be said without it.
package outside

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// CallTimeout bounds each call to the management cluster.
const CallTimeout = 10 * time.Second

// ErrReadOnly is returned for every write.
var ErrReadOnly = errors.New("this client only reads")

// New returns a client that only reads. A configuration of a Machine that may
// not be read is taken for one that does not exist, which counts as up to date.
// In which version a kind is served is asked of discovery, which everybody may
// read, and not of its definition.
func New(config *rest.Config) (client.Client, error) {
	config = rest.CopyConfig(config)
	if config.Timeout == 0 {
		config.Timeout = CallTimeout
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register kinds: %w", err)
		}
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client of the management cluster: %w", err)
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: get,
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return ErrReadOnly
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return ErrReadOnly
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return ErrReadOnly
		},
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return ErrReadOnly
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return ErrReadOnly
		},
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return ErrReadOnly
		},
		SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
			return ErrReadOnly
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return ErrReadOnly
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return ErrReadOnly
		},
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
			return ErrReadOnly
		},
	}), nil
}

func get(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if metadata, ok := obj.(*metav1.PartialObjectMetadata); ok && metadata.Kind == "CustomResourceDefinition" {
		return definition(c, key, metadata)
	}
	err := c.Get(ctx, key, obj, opts...)
	if _, config := obj.(*bootstrapv1.RKE2Config); config && apierrors.IsForbidden(err) {
		return apierrors.NewNotFound(bootstrapv1.GroupVersion.WithResource("rke2configs").GroupResource(), key.Name)
	}
	return err
}

// definition makes up the label by which a definition tells in which version
// Cluster API's contract v1beta2 is kept: the preferred one.
func definition(c client.Client, key client.ObjectKey, out *metav1.PartialObjectMetadata) error {
	plural, group, _ := strings.Cut(key.Name, ".")
	kind, err := c.RESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", key.Name, err)
	}
	out.Name = key.Name
	out.Labels = map[string]string{clusterv1.GroupVersion.Group + "/" + clusterv1.GroupVersion.Version: kind.Version}
	return nil
}
