package bootstrap

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

func TestEncryptionKeyOfTheUser(t *testing.T) {
	const (
		field = "serverConfig.secretsEncryption.encryptionKeySecret: "
		fit   = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	)
	for name, c := range map[string]struct {
		data map[string]string
		want string
	}{
		"missing":     {want: "/own-key does not exist"},
		"without key": {data: map[string]string{"other": "hunter2"}, want: field + `own-key has no value under the key "encryptionKey"`},
		"no key": {
			data: map[string]string{"encryptionKey": "hunter2"},
			want: field + "the value under the key encryptionKey of Secret own-key is no key for aescbc",
		},
		"fit": {data: map[string]string{"encryptionKey": fit}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			controlPlane := w.controlPlane()
			w.patch(controlPlane, func() {
				controlPlane.Spec.ServerConfig.SecretsEncryption = &controlplanev1.SecretsEncryption{
					EncryptionKeySecret: &corev1.ObjectReference{Name: "own-key"},
				}
			})
			if c.data != nil {
				w.Expect(api.Create(w.ctx, &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "own-key"}, StringData: c.data,
				})).To(Succeed())
			}
			w.provision()
			w.secrets()
			w.server("cp-1", nil)
			if c.want != "" {
				w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason, c.want)
				return
			}
			files := filesOf(w, w.hasData("cp-1"))
			w.Expect(files["/var/lib/rancher/rke2/server/cred/encryption-config.json"]).To(ContainSubstring(`"secret":"` + fit + `"`))
		})
	}
}
