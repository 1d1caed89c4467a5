package bootstrap

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/drover-project/drover/internal/world/scope"
)

// supervisorTimeout bounds one question to a supervisor.
const supervisorTimeout = 5 * time.Second

func supervisorURL(address string) string {
	return "https://" + net.JoinHostPort(address, strconv.Itoa(scope.RegistrationPort))
}

// pingSupervisor asks RKE2's supervisor at a URL whether it is there. That needs no credentials, and whoever answers has
// to have a certificate of the authority.
func pingSupervisor(ctx context.Context, url string, authority []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return errors.New("the server CA holds no certificate")
	}
	ctx, cancel := context.WithTimeout(ctx, supervisorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/ping", nil)
	if err != nil {
		return fmt.Errorf("ask the supervisor: %w", err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("ask the supervisor: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the supervisor: %s", response.Status)
	}
	return nil
}
