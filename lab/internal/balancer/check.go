package balancer

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
)

// HTTPS checks a path over TLS, on a new connection each time. With statuses
// given the answer must have one of them; otherwise any answer is good. The
// server's certificate is not verified: a load balancer does not know its CA.
func HTTPS(path string, statuses ...int) Check {
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, address netip.AddrPort) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address.String()+path, nil)
		if err != nil {
			return fmt.Errorf("health check: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("health check: %w", err)
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
			return fmt.Errorf("health check: %w", err)
		}
		if len(statuses) > 0 && !slices.Contains(statuses, response.StatusCode) {
			return fmt.Errorf("health check: %s answers %s", request.URL, response.Status)
		}
		return nil
	}
}

// TCP checks that the backend accepts connections.
func TCP() Check {
	return func(ctx context.Context, address netip.AddrPort) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address.String())
		if err != nil {
			return fmt.Errorf("health check: %w", err)
		}
		return conn.Close()
	}
}
