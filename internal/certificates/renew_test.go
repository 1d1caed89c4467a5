package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var options = Options{Namespace: "system", Secret: "webhook-certificate", Service: "webhooks"}

// renewed returns what is kept at the given time.
func renewed(t *testing.T, data map[string][]byte, at time.Time) (map[string][]byte, bool) {
	t.Helper()
	data, changed, err := options.renew(data, at)
	if err != nil {
		t.Fatal(err)
	}
	return data, changed
}

// verify fails unless clients with the bundle trust accept the certificate at
// the given time.
func verify(t *testing.T, trust, certificate []byte, at time.Time) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trust) {
		t.Fatal("no authority in the bundle")
	}
	block, _ := pem.Decode(certificate)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "webhooks.system.svc", Roots: roots, CurrentTime: at}); err != nil {
		t.Error(err)
	}
}

func TestRenew(t *testing.T) {
	const day = 24 * time.Hour
	begin := time.Now()
	first, changed := renewed(t, nil, begin)
	if !changed {
		t.Fatal("nothing was issued")
	}
	other := map[string][]byte{}
	for key := range first {
		other[key] = []byte("not what it should be")
	}
	elsewhere := options
	elsewhere.Service = "other"
	moved, _, err := elsewhere.renew(first, begin)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data                     map[string][]byte
		at                       time.Time
		newServing, newAuthority bool
	}{
		"good":                            {first, begin, false, false},
		"good for 91 days":                {first, begin.Add(274 * day), false, false},
		"good for 89 days":                {first, begin.Add(276 * day), true, false},
		"expired":                         {first, begin.Add(500 * day), true, false},
		"authority good for 364 days":     {first, begin.Add(9*365*day + day), true, true},
		"authority expired":               {first, begin.Add(4000 * day), true, true},
		"damaged":                         {other, begin, true, true},
		"issued for another Service":      {moved, begin, true, false},
		"Secret without an authority key": {map[string][]byte{trustKey: first[trustKey]}, begin, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			data, changed := renewed(t, c.data, c.at)
			if changed != (c.newServing || c.newAuthority) {
				t.Errorf("changed: %v", changed)
			}
			if got := !bytes.Equal(data[corev1.TLSCertKey], c.data[corev1.TLSCertKey]); got != c.newServing {
				t.Errorf("new certificate: %v", got)
			}
			if got := !bytes.Equal(data[authorityKeyKey], c.data[authorityKeyKey]); got != c.newAuthority {
				t.Errorf("new authority: %v", got)
			}
			verify(t, data[trustKey], data[corev1.TLSCertKey], c.at)
			if _, again := renewed(t, data, c.at); again {
				t.Error("what was just issued is replaced at once")
			}
		})
	}
}

// Replicas that have not seen a new authority serve with certificates of the
// one before: both are trusted, and no more than both.
func TestTwoAuthoritiesAreTrusted(t *testing.T) {
	begin := time.Now()
	first, _ := renewed(t, nil, begin)
	data := first
	for year := range 2 {
		at := begin.Add(time.Duration(year+1) * (authorityLife - authorityReserve + 24*time.Hour))
		before := data
		data, _ = renewed(t, data, at)
		verify(t, data[trustKey], data[corev1.TLSCertKey], at)
		if year == 0 {
			verify(t, data[trustKey], before[corev1.TLSCertKey], begin)
		}
		if n := bytes.Count(data[trustKey], []byte("BEGIN CERTIFICATE")); n != 2 {
			t.Errorf("%d authorities are trusted", n)
		}
	}
}

func TestIncompleteOptions(t *testing.T) {
	for _, o := range []Options{{}, {Namespace: "a", Secret: "b"}, {Secret: "b", Service: "c"}, {Namespace: "a", Service: "c"}} {
		if err := o.validate(); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if err := options.validate(); err != nil {
		t.Error(err)
	}
}
