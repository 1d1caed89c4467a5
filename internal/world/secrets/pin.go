package secrets

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The users of RKE2's join tokens.
const (
	// ServerUser is the one of the token that servers join with.
	ServerUser = "server"
	// AgentUser is the one of the token that workers join with. The password of servers is good for it, too, in a
	// cluster without an agent token.
	AgentUser = "node"
)

// fullTokenPrefix marks tokens of the full form, K10<hash of the server CA>::<user>:<password>
// (https://docs.rke2.io/security/token).
const fullTokenPrefix = "K10"

// Pinned returns a token in the full form, with which a node talks to servers of this cluster only: it compares the
// authority that a server shows with the hash before it says anything. The authority is the PEM document that servers
// have as server-ca.crt. A token that has the full form already keeps its hash. The result is a secret, and no error
// holds any of it.
func Pinned(token, user string, authority []byte) (string, error) {
	fixed, password, err := takeApart(token)
	if err != nil {
		return "", err
	}
	if fixed != "" {
		return fullToken(fixed, user, password), nil
	}
	hash, err := authorityHash(authority)
	if err != nil {
		return "", fmt.Errorf("hash the server CA: %w", err)
	}
	return fullToken(hash, user, token), nil
}

// Password is the password in a token, whatever form it has. No error holds any
// of it.
func Password(token string) (string, error) {
	_, password, err := takeApart(token)
	return password, err
}

// takeApart gives the hash of a token in the full form, empty for any other,
// and the password.
func takeApart(token string) (hash, password string, err error) {
	rest, full := strings.CutPrefix(token, fullTokenPrefix)
	if !full {
		return "", token, nil
	}
	hash, credentials, ok := strings.Cut(rest, "::")
	_, password, ok2 := strings.Cut(credentials, ":")
	if !ok || !ok2 {
		return "", "", errors.New("the token of the cluster begins with K10 but has not the form K10<hash>::<user>:<password>")
	}
	return hash, password, nil
}

func fullToken(hash, user, password string) string {
	return fullTokenPrefix + hash + "::" + user + ":" + password
}

// authorityHash is the hash RKE2 makes of what its servers answer at /cacerts, in hexadecimal: of one certificate it is
// that of the file, of a chain it is that of the root, so that a new intermediate does not change it
// (https://docs.k3s.io/cli/token).
func authorityHash(authority []byte) (string, error) {
	certs, err := parseCerts(authority)
	if err != nil {
		return "", err
	}
	hashed := authority
	if root := rootOf(certs); len(certs) > 1 && root != nil {
		hashed = root.Raw
	}
	sum := sha256.Sum256(hashed)
	return hex.EncodeToString(sum[:]), nil
}

// rootOf returns the end of the chain that begins with the first certificate; nil when the others do not make one.
func rootOf(certs []*x509.Certificate) *x509.Certificate {
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, cert := range certs[1:] {
		if selfIssued(cert) {
			roots.AddCert(cert)
		} else {
			intermediates.AddCert(cert)
		}
	}
	options := x509.VerifyOptions{
		Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}
	chains, err := certs[0].Verify(options)
	if err != nil {
		return nil
	}
	return chains[0][len(chains[0])-1]
}

// completeChain refuses an authority of a user's that another one signed and whose document does not go on to the root.
// RKE2's own clients, and everybody's who is given the document, trust nothing in it then. It has to be found before
// the first server starts; afterwards the document cannot change.
func completeChain(secret client.ObjectKey, pair CAPair) error {
	certs, err := parseCerts(pair.Cert)
	if err != nil {
		return &ContentError{Secret: secret, Problem: fmt.Sprintf("%s: %v", CertKey, err)}
	}
	if selfIssued(certs[0]) || rootOf(certs) != nil {
		return nil
	}
	return &ContentError{Secret: secret, Problem: fmt.Sprintf("the certificate in %s was signed by %q, and the chain from "+
		"there to its root is not in it; append those certificates, the root last", CertKey, certs[0].Issuer.CommonName)}
}

// selfIssued tells whether a certificate names no other key as the one that signed it.
func selfIssued(cert *x509.Certificate) bool {
	return len(cert.AuthorityKeyId) == 0 || bytes.Equal(cert.AuthorityKeyId, cert.SubjectKeyId)
}

// IsCanonical tells whether a document is one certificate in the very form that PEM encoders write. No provider has a
// reason to write it to a machine in any other form.
func IsCanonical(document []byte) bool {
	block, rest := pem.Decode(document)
	return block != nil && len(rest) == 0 && bytes.Equal(pem.EncodeToMemory(block), document)
}

func parseCerts(document []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for {
		var block *pem.Block
		if block, document = pem.Decode(document); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("a part of it is no certificate")
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 {
		return nil, errors.New("it holds no certificate in PEM form")
	}
	return certs, nil
}
