package render

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// The schemes Secrets are encrypted with. RKE2 takes the first when none is named.
const (
	aescbc    controlplanev1.SecretsEncryptionProvider = "aescbc"
	secretbox controlplanev1.SecretsEncryptionProvider = "secretbox"
)

const encryptionField = "serverConfig.secretsEncryption.encryptionKeySecret"

// encryptionConfig is the API server's EncryptionConfiguration
// (https://kubernetes.io/docs/reference/config-api/apiserver-config.v1/).
type encryptionConfig struct {
	Kind       string               `json:"kind"`
	APIVersion string               `json:"apiVersion"`
	Resources  []encryptedResources `json:"resources"`
}

type encryptedResources struct {
	Resources []string `json:"resources"`
	// Providers are by name of the scheme. The first one encrypts, all decrypt.
	Providers []map[controlplanev1.SecretsEncryptionProvider]encryptionKeys `json:"providers"`
}

type encryptionKeys struct {
	Keys []encryptionKey `json:"keys,omitempty"`
}

type encryptionKey struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// encryptionFiles returns the file that gives the API server the user's own key, at the place where RKE2 makes one
// with a key of its own when it finds none; no file when the user has no key. All servers get it: RKE2 hands the first
// server's to those that join, and theirs has to be the same.
func encryptionFiles(in *Input) ([]file, error) {
	encryption := in.Server.SecretsEncryption
	if in.Role == Worker || encryption == nil || encryption.EncryptionKeySecret == nil {
		return nil, nil
	}
	provider := encryption.Provider
	if provider == "" {
		provider = aescbc
	}
	secret, ok := encryptionSecret(provider, in.Contents.EncryptionKey)
	if !ok {
		return nil, fmt.Errorf("%s: the value under the key encryptionKey of Secret %s is no key for %s: "+
			"give 32 random bytes in base64 form", encryptionField, encryption.EncryptionKeySecret.Name, provider)
	}
	content, err := json.Marshal(encryptionConfig{
		Kind: "EncryptionConfiguration", APIVersion: "apiserver.config.k8s.io/v1",
		Resources: []encryptedResources{{
			Resources: []string{"secrets"},
			Providers: []map[controlplanev1.SecretsEncryptionProvider]encryptionKeys{
				{provider: {Keys: []encryptionKey{{Name: string(provider) + "key", Secret: secret}}}},
				// Secrets that were written before they were encrypted stay readable.
				{"identity": {}},
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: marshal the encryption configuration: %w", encryptionField, err)
	}
	return []file{{path: in.dataPath("server", "cred", "encryption-config.json"), mode: modeSecret, content: content}}, nil
}

// encryptionSecret returns a key in base64 form. It takes a key in that form, as the API server's own documentation
// makes one, and also the bare bytes.
func encryptionSecret(provider controlplanev1.SecretsEncryptionProvider, value []byte) (string, bool) {
	sizes := []int{32}
	if provider == aescbc {
		sizes = []int{16, 24, 32}
	}
	trimmed := strings.TrimSpace(string(value))
	if decoded, err := base64.StdEncoding.DecodeString(trimmed); err == nil && slices.Contains(sizes, len(decoded)) {
		return trimmed, true
	}
	return base64.StdEncoding.EncodeToString(value), slices.Contains(sizes, len(value))
}
