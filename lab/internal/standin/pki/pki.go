// Package pki holds the certificates of an RKE2 server: the authorities that
// may be put in place before the first start, and those issued from them. The
// file names are RKE2's own (https://docs.rke2.io/security/certificates).
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The authorities, as paths below <data>/server/tls without their extension.
const (
	ServerCA        = "server-ca"
	ClientCA        = "client-ca"
	RequestHeaderCA = "request-header-ca"
	EtcdServerCA    = "etcd/server-ca"
	EtcdPeerCA      = "etcd/peer-ca"
	// ServiceKey signs service account tokens. It is a key without certificate.
	ServiceKey = "service"
)

// Authorities lists all of them.
var Authorities = []string{ServerCA, ClientCA, RequestHeaderCA, EtcdServerCA, EtcdPeerCA}

// authorityLife and leafLife are RKE2's.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
)

// Pair is a certificate and its key as PEM.
type Pair struct{ Cert, Key []byte }

// Store is the folder <data>/server/tls.
type Store struct{ Dir string }

// Ensure makes the authorities and the service key that are not there.
func (s Store) Ensure() error {
	for _, name := range Authorities {
		there, err := s.has(name)
		if err != nil {
			return err
		}
		if there {
			continue
		}
		pair, err := newAuthority("rke2-" + filepath.Base(name))
		if err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
		if err := s.Write(name, pair); err != nil {
			return err
		}
	}
	if _, err := os.Stat(s.path(ServiceKey + ".key")); err == nil {
		return nil
	}
	key, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("make service key: %w", err)
	}
	return s.Write(ServiceKey, Pair{Key: key})
}

// has tells whether both halves of an authority are there. One alone is an error.
func (s Store) has(name string) (bool, error) {
	for _, file := range []string{name + ".crt", name + ".key"} {
		_, err := os.Stat(s.path(file))
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if matches, _ := filepath.Glob(s.path(name + ".*")); len(matches) > 0 {
			return false, fmt.Errorf("%s is missing: put it beside %s, or remove that", s.path(file), matches[0])
		}
		return false, nil
	}
	return true, nil
}

// Write stores a pair, the key readable by its owner only.
func (s Store) Write(name string, p Pair) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		return err
	}
	if p.Cert != nil {
		if err := os.WriteFile(s.path(name+".crt"), p.Cert, 0o600); err != nil {
			return err
		}
	}
	if p.Key == nil {
		return nil
	}
	return os.WriteFile(s.path(name+".key"), p.Key, 0o600)
}

// Read gives a stored pair.
func (s Store) Read(name string) (Pair, error) {
	c, err := os.ReadFile(s.path(name + ".crt"))
	if err != nil && name != ServiceKey {
		return Pair{}, err
	}
	k, err := os.ReadFile(s.path(name + ".key"))
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: c, Key: k}, nil
}

// Path is the file of a name with its extension.
func (s Store) Path(name string) string { return s.path(name) }

func (s Store) path(name string) string { return filepath.Join(s.Dir, filepath.FromSlash(name)) }

// Subject is what a certificate is issued for.
type Subject struct {
	Name   string
	Groups []string
	// Hosts are DNS names and addresses. Without any it is a client only.
	Hosts []string
}

// Issue makes a new key and has the authority sign it.
func (s Store) Issue(authority string, subject Subject) (Pair, error) {
	ca, err := s.Read(authority)
	if err != nil {
		return Pair{}, fmt.Errorf("read authority %s: %w", authority, err)
	}
	caCerts, err := cert.ParseCertsPEM(ca.Cert)
	if err != nil {
		return Pair{}, fmt.Errorf("parse %s.crt: %w", authority, err)
	}
	caKey, err := keyutil.ParsePrivateKeyPEM(ca.Key)
	if err != nil {
		return Pair{}, fmt.Errorf("parse %s.key: %w", authority, err)
	}
	signer, ok := caKey.(crypto.Signer)
	if !ok {
		return Pair{}, fmt.Errorf("%s.key can't sign", authority)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	template, err := leaf(subject)
	if err != nil {
		return Pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, caCerts[0], key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("sign certificate of %s: %w", subject.Name, err)
	}
	return pair(der, key)
}

// IssueTo issues and stores.
func (s Store) IssueTo(name, authority string, subject Subject) error {
	p, err := s.Issue(authority, subject)
	if err != nil {
		return err
	}
	return s.Write(name, p)
}

func leaf(subject Subject) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.Name, Organization: subject.Groups},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(leafLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, host := range subject.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	if len(subject.Hosts) > 0 {
		t.ExtKeyUsage = append(t.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	return t, nil
}

func newAuthority(name string) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return Pair{}, err
	}
	t := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return Pair{}, err
	}
	return pair(der, key)
}

func pair(der []byte, key *ecdsa.PrivateKey) (Pair, error) {
	k, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Cert: pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), Key: k}, nil
}
