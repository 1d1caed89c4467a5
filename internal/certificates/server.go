package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Server is a webhook server that keeps its own certificate.
type Server struct {
	webhook.Server
	keeper *keeper
}

// NewServer returns a server with the given options, whose certificate is kept
// as o says; certificate files are not used. The client must read live, and the
// server watches with config by itself: a manager starts its webhooks before its
// cache. It fails if o is not complete.
func NewServer(config *rest.Config, c client.Client, o Options, serve webhook.Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	watched, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client of metadata: %w", err)
	}
	k := &keeper{client: c, watched: watched, options: o}
	serve.TLSOpts = append(slices.Clone(serve.TLSOpts), func(config *tls.Config) { config.GetCertificate = k.certificate })
	return &Server{Server: webhook.NewServer(serve), keeper: k}, nil
}

// Start serves until the context ends. It fails if no certificate could be had
// within about a minute.
func (s *Server) Start(ctx context.Context) error {
	if err := s.keeper.first(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	kept := make(chan error, 1)
	go func() {
		// Without one there is not the other.
		defer cancel()
		kept <- s.keeper.run(ctx)
	}()
	err := s.Server.Start(ctx)
	cancel()
	return errors.Join(err, <-kept)
}
