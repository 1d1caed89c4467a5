package secrets

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// chain returns an intermediate authority that a root signed, and the root, in PEM form, and the root's DER form.
func chain(t *testing.T) (intermediate, root, rootDER []byte) {
	t.Helper()
	_, intermediate, root = chainWithKey(t)
	block, _ := pem.Decode(root)
	return intermediate, root, block.Bytes
}

// chainWithKey returns the key of the intermediate authority as well.
func chainWithKey(t *testing.T) (keyPEM, intermediate, root []byte) {
	t.Helper()
	template := func(name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Minute),
			NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
			SubjectKeyId: []byte(name),
		}
	}
	sign := func(name, parent string, key, signer *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template(name), template(parent), key.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}) }
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	return keyPEM, encode(sign("intermediate", "root", key, rootKey)), encode(sign("root", "root", rootKey, rootKey))
}

func TestPinned(t *testing.T) {
	intermediate, root, rootDER := chain(t)
	sum := func(data []byte) string {
		s := sha256.Sum256(data)
		return hex.EncodeToString(s[:])
	}
	bundle := append(append([]byte{}, intermediate...), root...)
	twice := append(append([]byte{}, root...), root...)
	unrelated := append(append([]byte{}, intermediate...), intermediate...)
	for name, c := range map[string]struct {
		token     string
		authority []byte
		want      string
	}{
		"one certificate: the file":            {"pw", root, "K10" + sum(root) + "::node:pw"},
		"one certificate and a comment":        {"pw", append([]byte("root\n"), root...), "K10" + sum(append([]byte("root\n"), root...)) + "::node:pw"},
		"a chain: its root":                    {"pw", bundle, "K10" + sum(rootDER) + "::node:pw"},
		"the same twice":                       {"pw", twice, "K10" + sum(rootDER) + "::node:pw"},
		"no chain: the file":                   {"pw", unrelated, "K10" + sum(unrelated) + "::node:pw"},
		"a full token keeps its hash":          {"K10abc::server:p:w", root, "K10abc::node:p:w"},
		"a password that looks like no prefix": {"k10", root, "K10" + sum(root) + "::node:k10"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Pinned(c.token, AgentUser, c.authority)
			if err != nil || got != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ token, authority string }{
		"no certificate":   {"s3cret", "s3cret authority"},
		"half a full form": {"K10s3cret", string(root)},
		"broken":           {"s3cret", "-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n"},
	} {
		if _, err := Pinned(c.token, AgentUser, []byte(c.authority)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIsCanonical(t *testing.T) {
	intermediate, root, _ := chain(t)
	for name, c := range map[string]struct {
		document []byte
		want     bool
	}{
		"as it is written":         {root, true},
		"two":                      {append(append([]byte{}, intermediate...), root...), false},
		"no line break at the end": {root[:len(root)-1], false},
		"text before":              {append([]byte("x\n"), root...), false},
		"none":                     {nil, false},
	} {
		if got := IsCanonical(c.document); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A user may bring some of the authorities; those that are missing are made, and a chain has to be whole.
func TestAuthorityOfAChain(t *testing.T) {
	key, intermediate, root := chainWithKey(t)
	for name, c := range map[string]struct {
		cert    []byte
		problem string
	}{
		"whole":       {append(append([]byte{}, intermediate...), root...), ""},
		"ends early":  {intermediate, `the certificate in tls.crt was signed by "root", and the chain from there to its root is not in it`},
		"wrong order": {append(append([]byte{}, root...), intermediate...), "not a certificate and its private key"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			api := fake.NewFakeClient(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: "demo-ca"},
				Data:       map[string][]byte{CertKey: c.cert, PrivateKeyKey: key},
			})
			_, err := EnsureCA(ctx, api, api, demo, ServerCA, owner)
			if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%v", err)
			}
			if _, err := EnsureCA(ctx, api, api, demo, ClientCA, owner); err != nil {
				t.Errorf("the authority that is missing: %v", err)
			}
		})
	}
}
