package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secretClient is a cached client that also finds Secrets without the label
// the cache selects by: what the cache does not have is read live.
type secretClient struct {
	client.Client
	live client.Reader
}

// newClient implements client.NewClientFunc.
func newClient(config *rest.Config, options client.Options) (client.Client, error) {
	cached, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	options.Cache = nil
	live, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return secretClient{Client: cached, live: live}, nil
}

// Get implements client.Reader.
func (c secretClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, obj, opts...)
	if _, secret := obj.(*corev1.Secret); secret && apierrors.IsNotFound(err) {
		return c.live.Get(ctx, key, obj, opts...)
	}
	return err
}
