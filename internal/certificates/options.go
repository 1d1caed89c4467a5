package certificates

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options names what the certificate is kept in and who has to know its
// authority.
type Options struct {
	// Namespace and Secret name the Secret with the certificate. It is created
	// when it is missing.
	Namespace, Secret string
	// Service is the name of the Service, in the same namespace, that the
	// webhooks are called through. The certificate is issued for it.
	Service string
	// Mutating and Validating name the admission webhook configurations, and
	// Converted the CustomResourceDefinitions, that get the authority.
	Mutating, Validating, Converted []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o Options) validate() error {
	if o.Namespace == "" || o.Secret == "" || o.Service == "" {
		return errors.New("the Secret of the webhooks' certificate needs a name, a namespace and the name of the Service: " +
			"give --webhook-cert-secret, --webhook-cert-namespace (or the environment variable POD_NAMESPACE) and --webhook-service")
	}
	return nil
}

func (o Options) key() client.ObjectKey {
	return client.ObjectKey{Namespace: o.Namespace, Name: o.Secret}
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// host is the name that API servers expect in the certificate.
func (o Options) host() string {
	return fmt.Sprintf("%s.%s.svc", o.Service, o.Namespace)
}

func (o Options) issuer() *rotator.CertRotator {
	return &rotator.CertRotator{
		CAName:         o.Secret,
		CAOrganization: "drover",
		DNSName:        o.host(),
		ExtKeyUsages:   &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}
