package takeover_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/kubeconfig"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// authority is a certificate authority as the former provider makes them: RSA,
// ten years, one name for all, no serial number.
type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
}

var newAuthority = sync.OnceValues(func() (authority, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return authority{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(0), Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour).UTC(), NotAfter: time.Now().AddDate(10, 0, 0).UTC(),
		KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	return authority{certificate: certificate, key: key}, err
})

func (a authority) data() map[string][]byte {
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)}),
	}
}

func mustAuthority(t *testing.T) authority {
	t.Helper()
	a, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustKubeconfig is a kubeconfig signed and verified by the authority.
func mustKubeconfig(t *testing.T) []byte {
	t.Helper()
	a := mustAuthority(t)
	config, err := kubeconfig.New("demo", "https://10.0.0.1:6443", a.certificate, a.key)
	if err != nil {
		t.Fatal(err)
	}
	value, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// putSecrets puts the cluster's Secrets. The kubeconfig's has the type that the
// former provider did not set.
func (in *incumbent) putSecrets(first *bootstrapv1.RKE2Config) {
	in.Helper()
	_, legacy := in.controlPlane.Annotations[controlplanev1.LegacyAnnotation]
	owner := in.provider(controlplanev1.GroupVersion.Group, "RKE2ControlPlane", in.controlPlane, ptr.To(true))
	if in.release.authorities == "RKE2Config" {
		owner = in.provider(bootstrapv1.GroupVersion.Group, "RKE2Config", first, ptr.To(true))
	}
	names := []string{"demo-ca", "demo-cca", "demo-etcd", "demo-peer-etcd"}
	if legacy {
		names = names[:2]
	}
	for _, name := range names {
		in.putSecret(name, clusterv1.ClusterSecretType, owner, mustAuthority(in.T).data())
	}
	in.putSecret("demo-token", clusterv1.ClusterSecretType, in.clusterRef(ptr.To(true)), map[string][]byte{"value": []byte("0123456789abcdef0123456789abcdef")})
	in.putSecret("demo-kubeconfig", corev1.SecretTypeOpaque,
		in.provider(controlplanev1.GroupVersion.Group, "RKE2ControlPlane", in.controlPlane, ptr.To(true)),
		map[string][]byte{"value": mustKubeconfig(in.T)})
	// What a spec refers to is the user's, who also has to mark it to be moved.
	in.put(&corev1.Secret{
		ObjectMeta: in.meta("registry", map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}),
		StringData: map[string]string{"username": "u", "password": "p"},
	})
}

func (in *incumbent) putSecret(name string, kind corev1.SecretType, owner metav1.OwnerReference, data map[string][]byte) {
	in.Helper()
	in.put(&corev1.Secret{
		ObjectMeta: in.meta(name, map[string]string{clusterv1.ClusterNameLabel: "demo"}, owner), Type: kind, Data: data,
	})
}
