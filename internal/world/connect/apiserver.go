package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/workload"
)

const (
	// apiServerPort is where the API server of a server listens. RKE2 fixes it.
	apiServerPort = 6443
	// lookTimeout bounds one look at a serving certificate.
	lookTimeout = 3 * time.Second
)

// APIServerExpiry returns when the certificate expires that the API server on a
// node serves with. It asks that very API server, through the one the workload
// cluster is reached by. The error wraps workload.ErrNotConnected when there is
// no connection.
func (c *Connector) APIServerExpiry(ctx context.Context, s *scope.Scope, node string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	ca, err := secrets.LookupCA(ctx, c.Secrets, s.ClusterKey(), secrets.ServerCA)
	if err != nil {
		return time.Time{}, err
	}
	w, err := c.Clusters.Connect(ctx, s.ClusterKey())
	if err != nil {
		return time.Time{}, err
	}
	conn, err := w.DialPod(ctx, workload.SystemNamespace, "kube-apiserver-"+node, apiServerPort)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = conn.Close() }()
	expiry, err := servingExpiry(ctx, conn, ca.Cert)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at the certificate of the API server on node %s: %w", node, err)
	}
	return expiry, nil
}

// servingExpiry shakes hands and reads the end of the certificate. It has to be
// of the authority, but may have expired: that is what is looked for. Nothing
// is sent over the connection, so the name in it does not matter.
func servingExpiry(ctx context.Context, conn net.Conn, authority []byte) (time.Time, error) {
	roots, err := secrets.Pool(authority)
	if err != nil {
		return time.Time{}, err
	}
	var expiry time.Time
	client := tls.Client(conn, &tls.Config{
		MinVersion: tls.VersionTLS12,
		// Go would refuse an expired certificate. VerifyConnection checks the
		// rest.
		InsecureSkipVerify: true, //nolint:gosec // verified below, at a time at which it was valid
		VerifyConnection: func(state tls.ConnectionState) error {
			leaf := state.PeerCertificates[0]
			others := x509.NewCertPool()
			for _, c := range state.PeerCertificates[1:] {
				others.AddCert(c)
			}
			at := time.Now()
			if at.After(leaf.NotAfter) {
				at = leaf.NotAfter
			}
			expiry = leaf.NotAfter
			_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, CurrentTime: at})
			return err
		},
	})
	if err := client.HandshakeContext(ctx); err != nil {
		return time.Time{}, err
	}
	return expiry, nil
}
