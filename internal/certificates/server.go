package certificates

import (
	"context"
	"crypto/tls"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Server is a webhook server that keeps its own certificate.
type Server struct {
	webhook.Server
	keeper *keeper
}

// NewServer returns a server with the given options, whose certificate is kept
// as o says; certificate files are not used. The client must read live: a
// manager starts its webhooks before its cache. It fails if o is not complete.
func NewServer(c client.Client, o Options, serve webhook.Options) (*Server, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	k := &keeper{client: c, options: o}
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
	done := make(chan struct{})
	defer func() {
		cancel()
		<-done
	}()
	go func() {
		defer close(done)
		s.keeper.run(ctx)
	}()
	return s.Server.Start(ctx)
}
