// Package supervisor is the API on port 9345 that RKE2 servers offer to those
// who join: it hands out authorities to servers and certificates to agents,
// against the token. Paths and the form of tokens are RKE2's.
package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Port is RKE2's fixed supervisor port.
const Port = 9345

// Token is a join token: the short form is only a password, the full form
// "K10<hash>::<user>:<password>" also pins the server's authority
// (https://docs.rke2.io/security/token).
type Token struct {
	Hash, User, Password string
}

// ParseToken reads either form.
func ParseToken(s string) (Token, error) {
	rest, full := strings.CutPrefix(s, "K10")
	if !full {
		if s == "" {
			return Token{}, fmt.Errorf("the token is empty: set `token` in config.yaml")
		}
		return Token{User: "server", Password: s}, nil
	}
	hash, credentials, ok := strings.Cut(rest, "::")
	user, password, ok2 := strings.Cut(credentials, ":")
	if !ok || !ok2 {
		return Token{}, fmt.Errorf("the token begins with K10 but has not the form K10<hash>::<user>:<password>")
	}
	return Token{Hash: hash, User: user, Password: password}, nil
}

// Full gives the token in its full form for the given authority.
func (t Token) Full(serverCA []byte) string {
	return "K10" + Hash(serverCA) + "::" + t.User + ":" + t.Password
}

// Hash is the SHA-256 of an authority's PEM, in hexadecimal.
func Hash(serverCA []byte) string {
	sum := sha256.Sum256(serverCA)
	return hex.EncodeToString(sum[:])
}
