package secrets

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var (
	demo  = client.ObjectKey{Namespace: "demo", Name: "demo"}
	owner = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}
)

func TestNames(t *testing.T) {
	want := NameSet{
		ServerCA: "demo-ca", ClientCA: "demo-cca", EtcdCA: "demo-etcd", EtcdPeerCA: "demo-peer-etcd",
		Token: "demo-token", AgentToken: "demo-token-agent", Kubeconfig: "demo-kubeconfig", InitLock: "demo-lock",
	}
	if got := Names("demo"); got != want {
		t.Errorf("%+v", got)
	}
	if got := len(Purposes(true)); got != 2 {
		t.Errorf("a legacy cluster has %d authorities", got)
	}
}

func TestEnsureCA(t *testing.T) {
	ctx := context.Background()
	c := fake.NewFakeClient()
	for _, purpose := range Purposes(false) {
		pair, err := EnsureCA(ctx, c, c, demo, purpose, owner)
		if err != nil {
			t.Fatal(err)
		}
		again, err := EnsureCA(ctx, c, c, demo, purpose, owner)
		if err != nil || string(again.Cert) != string(pair.Cert) || string(again.Key) != string(pair.Key) {
			t.Errorf("%s was made twice (%v)", purpose, err)
		}
		block, _ := pem.Decode(pair.Cert)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA || cert.Subject.CommonName != purpose.commonName() {
			t.Errorf("%s: %v, %+v", purpose, err, cert)
		}
		secret := &corev1.Secret{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "demo", Name: CAName("demo", purpose)}, secret); err != nil {
			t.Fatal(err)
		}
		if secret.Type != "cluster.x-k8s.io/secret" || secret.Labels[clusterv1.ClusterNameLabel] != "demo" ||
			len(secret.OwnerReferences) != 1 {
			t.Errorf("%s: %s, %v, %v", secret.Name, secret.Type, secret.Labels, secret.OwnerReferences)
		}
	}
}

// TestEnsureReadsBack has another writer win the race: what counts is what the API holds.
func TestEnsureReadsBack(t *testing.T) {
	ctx := context.Background()
	theirs, err := newCA(ServerCA, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	raced := false
	c := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if !raced {
				raced = true
				winner := obj.DeepCopyObject().(*corev1.Secret)
				if winner.Name == "demo-token" {
					winner.Data = map[string][]byte{ValueKey: []byte("theirs")}
				} else {
					winner.Data = map[string][]byte{CertKey: theirs.Cert, PrivateKeyKey: theirs.Key}
				}
				if err := c.Create(ctx, winner); err != nil {
					return err
				}
			}
			return c.Create(ctx, obj, opts...)
		},
	})
	pair, err := EnsureCA(ctx, c, c, demo, ServerCA, owner)
	if err != nil || string(pair.Cert) != string(theirs.Cert) {
		t.Errorf("the authority is not the one of the Secret (%v)", err)
	}
	raced = false
	token, err := EnsureToken(ctx, c, c, demo, owner)
	if err != nil || token != "theirs" {
		t.Errorf("token %q, %v", token, err)
	}
}

func TestEnsureToken(t *testing.T) {
	ctx := context.Background()
	c := fake.NewFakeClient()
	token, err := EnsureToken(ctx, c, c, demo, owner)
	if err != nil || len(token) != 32 {
		t.Fatalf("%q, %v", token, err)
	}
	if again, err := EnsureToken(ctx, c, c, demo, owner); err != nil || again != token {
		t.Errorf("a second token was made: %q, %v", again, err)
	}
}

func TestContentErrors(t *testing.T) {
	good, err := newCA(ServerCA, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	other, err := newCA(ServerCA, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	old, err := newCA(ServerCA, time.Now().AddDate(-caYears-1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	for want, data := range map[string]map[string][]byte{
		"Secret demo/demo-ca: key tls.crt is missing; add it or delete the Secret before the cluster is initialized": {PrivateKeyKey: good.Key},
		"Secret demo/demo-ca: key tls.key is missing; add it or delete the Secret before the cluster is initialized": {CertKey: good.Cert},
		"are not a certificate and its private key": {CertKey: good.Cert, PrivateKeyKey: other.Key},
		"not a certificate and its":                 {CertKey: []byte("hunter2"), PrivateKeyKey: []byte("hunter2")},
		"expired on":                                {CertKey: old.Cert, PrivateKeyKey: old.Key},
	} {
		c := fake.NewFakeClient(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo-ca"}, Data: data})
		_, err := EnsureCA(context.Background(), c, c, demo, ServerCA, owner)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("want %q, got %v", want, err)
		}
		if IsNotFound(err) {
			t.Errorf("%v counts as not found", err)
		}
	}
	c := fake.NewFakeClient()
	if _, err := LookupCA(context.Background(), c, demo, EtcdCA); !IsNotFound(err) ||
		err.Error() != "Secret demo/demo-etcd: it does not exist" {
		t.Errorf("%v", err)
	}
	if _, err := LookupToken(context.Background(), c, demo); !IsNotFound(err) {
		t.Errorf("%v", err)
	}
}
