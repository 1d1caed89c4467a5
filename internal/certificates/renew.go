package certificates

import (
	"bytes"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
	corev1 "k8s.io/api/core/v1"
)

// The keys of the Secret besides those of every TLS Secret.
const (
	// trustKey has the authority, followed by the one before it while that may
	// still be in use.
	trustKey = "ca.crt"
	// authorityKeyKey has the private key of the authority.
	authorityKeyKey = "ca.key"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	servingLife   = 365 * 24 * time.Hour
	// servingReserve is how long before its end a certificate is replaced.
	servingReserve = 90 * 24 * time.Hour
	// authorityReserve is the same for the authority: no certificate outlives
	// the authority that signed it.
	authorityReserve = servingLife
	// backdated allows for the clocks of API servers.
	backdated = time.Hour
)

// renew returns what the Secret must have now, given what it has, and whether
// that is a change. What is good for long enough is kept.
func (o Options) renew(data map[string][]byte, now time.Time) (map[string][]byte, bool, error) {
	issuer := o.issuer()
	data = maps.Clone(data)
	if data == nil {
		data = map[string][]byte{}
	}
	authority, changed := o.authority(data, now), false
	if authority == nil {
		var err error
		if authority, err = issuer.CreateCACert(now.Add(-backdated), now.Add(authorityLife)); err != nil {
			return nil, false, fmt.Errorf("make an authority for the webhooks' certificate: %w", err)
		}
		data[trustKey] = append(bytes.Clone(authority.CertPEM), stillTrusted(data[trustKey], now)...)
		data[authorityKeyKey] = authority.KeyPEM
		changed = true
	}
	valid, err := rotator.ValidCert(authority.CertPEM, data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey],
		issuer.DNSName, issuer.ExtKeyUsages, now.Add(servingReserve))
	if err == nil && valid {
		return data, changed, nil
	}
	certificate, key, err := issuer.CreateCertPEM(authority, now.Add(-backdated), now.Add(servingLife))
	if err != nil {
		return nil, false, fmt.Errorf("issue the webhooks' certificate: %w", err)
	}
	data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = certificate, key
	return data, true, nil
}

// authority returns the authority in the Secret, or nil if there is none that
// can sign a certificate now.
func (o Options) authority(data map[string][]byte, now time.Time) *rotator.KeyPairArtifacts {
	block, _ := pem.Decode(data[trustKey])
	if block == nil {
		return nil
	}
	certificate := pem.EncodeToMemory(block)
	valid, err := rotator.ValidCert(certificate, certificate, data[authorityKeyKey], o.Secret, nil, now.Add(authorityReserve))
	if err != nil || !valid {
		return nil
	}
	pair, err := tls.X509KeyPair(certificate, data[authorityKeyKey])
	if err != nil {
		return nil
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil
	}
	return &rotator.KeyPairArtifacts{Cert: pair.Leaf, Key: key, CertPEM: certificate, KeyPEM: data[authorityKeyKey]}
}

// due says when renew has something to do if the Secret stays as it is.
func due(data map[string][]byte) (time.Time, error) {
	var next time.Time
	for key, reserve := range map[string]time.Duration{corev1.TLSCertKey: servingReserve, trustKey: authorityReserve} {
		block, _ := pem.Decode(data[key])
		if block == nil {
			return time.Time{}, fmt.Errorf("no certificate under the key %s", key)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, fmt.Errorf("certificate under the key %s: %w", key, err)
		}
		// It is good until the end, and the end has no fractions of a second.
		if end := certificate.NotAfter.Add(time.Second - reserve); next.IsZero() || end.Before(next) {
			next = end
		}
	}
	return next, nil
}

// stillTrusted returns the first authority of a bundle unless it has expired.
// Other replicas serve with its certificates until they have read the Secret.
func stillTrusted(bundle []byte, now time.Time) []byte {
	block, _ := pem.Decode(bundle)
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !certificate.IsCA || now.After(certificate.NotAfter) {
		return nil
	}
	return pem.EncodeToMemory(block)
}
