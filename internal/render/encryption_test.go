package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

func TestEncryptionKey(t *testing.T) {
	const path = "/data/rke2/server/cred/encryption-config.json"
	bare := strings.Repeat("\x00", 32)
	encoded := strings.Repeat("A", 43) + "="
	for name, c := range map[string]struct {
		provider controlplanev1.SecretsEncryptionProvider
		value    string
		scheme   string
	}{
		"base64":    {value: encoded + "\n", scheme: "aescbc"},
		"bytes":     {provider: "aescbc", value: bare, scheme: "aescbc"},
		"secretbox": {provider: "secretbox", value: encoded, scheme: "secretbox"},
	} {
		for _, in := range []Input{firstServer(), joiningServer(), worker()} {
			in.Config.AgentConfig.DataDir = "/data/rke2"
			in.Server.SecretsEncryption = &controlplanev1.SecretsEncryption{
				Provider: c.provider, EncryptionKeySecret: &corev1.ObjectReference{Name: "key"},
			}
			in.Contents.EncryptionKey = []byte(c.value)
			got, ok := filesOf(t, in)[path]
			if in.Role == Worker {
				if ok {
					t.Errorf("%s: a worker gets the key", name)
				}
				continue
			}
			want := writeFile{
				Path: path, Owner: "root:root", Permissions: "0600",
				Content: `{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1","resources":[{"resources":["secrets"],` +
					`"providers":[{"` + c.scheme + `":{"keys":[{"name":"` + c.scheme + `key","secret":"` + encoded + `"}]}},{"identity":{}}]}]}`,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s:\n%s", name, in.Role, diff)
			}
			if provider, ok := nodeConfig(t, in)["secrets-encryption-provider"]; ok != (c.provider != "") {
				t.Errorf("%s: secrets-encryption-provider: %v", name, provider)
			}
		}
	}
}

func TestUnfitEncryptionKey(t *testing.T) {
	for provider, value := range map[controlplanev1.SecretsEncryptionProvider]string{
		"": "hunter2", "aescbc": "hunter2", "secretbox": "hunter2hunter2xx",
	} {
		in := joiningServer()
		in.Server.SecretsEncryption = &controlplanev1.SecretsEncryption{
			Provider: provider, EncryptionKeySecret: &corev1.ObjectReference{Name: "own"},
		}
		in.Contents.EncryptionKey = []byte(value)
		_, err := Bootstrap(in)
		if err == nil || !strings.HasPrefix(err.Error(), "serverConfig.secretsEncryption.encryptionKeySecret: the value under the key "+
			"encryptionKey of Secret own is no key for ") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", provider, err)
		}
	}
}
