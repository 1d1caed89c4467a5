package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// clientCertLife is how long a minted client certificate is valid; no run of the laboratory lasts that long.
const clientCertLife = 24 * time.Hour

// EtcdTLS mints a client certificate from the cluster's etcd CA (Secret <cluster>-etcd) and trusts servers of that CA.
func EtcdTLS(ctx context.Context, management client.Reader, cluster client.ObjectKey) (*tls.Config, error) {
	secret := &corev1.Secret{}
	id := client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.Name + "-etcd"}
	if err := management.Get(ctx, id, secret); err != nil {
		return nil, fmt.Errorf("read etcd CA of cluster %s: %w", cluster.Name, err)
	}
	cfg, err := tlsFromCA(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", id, err)
	}
	return cfg, nil
}

func tlsFromCA(certPEM, keyPEM []byte) (*tls.Config, error) {
	block, _ := pem.Decode(certPEM)
	if block == nil {
		return nil, errors.New("tls.crt holds no certificate")
	}
	ca, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("tls.crt: %w", err)
	}
	caKey, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make client key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make serial number: %w", err)
	}
	now := time.Now()
	leaf := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "lab-probe"},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(clientCertLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("sign client certificate: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	return &tls.Config{
		RootCAs: roots, MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}, nil
}
