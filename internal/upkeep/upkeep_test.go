package upkeep

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/certs"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

func newAuthority(t *testing.T, name string) (authority, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate: certificate, key: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestKubeconfigUsesBothAuthorities(t *testing.T) {
	_, server := newAuthority(t, "server")
	signer, _ := newAuthority(t, "client")
	value, err := newKubeconfig("demo", "https://10.0.0.1:6443", server, signer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(value)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Clusters["demo"]; got.Server != "https://10.0.0.1:6443" || string(got.CertificateAuthorityData) != string(server) {
		t.Errorf("cluster %+v", got)
	}
	certificate, err := certs.DecodeCertPEM(config.AuthInfos["demo-admin"].ClientCertificateData)
	if err != nil {
		t.Fatal(err)
	}
	if err := certificate.CheckSignatureFrom(signer.certificate); err != nil {
		t.Errorf("the client certificate is not signed by the clients' authority: %v", err)
	}
	if certificate.Subject.CommonName != "kubernetes-admin" || strings.Join(certificate.Subject.Organization, ",") != "system:masters" {
		t.Errorf("subject %s", certificate.Subject)
	}
	if left := time.Until(certificate.NotAfter); left < 364*24*time.Hour || left > 366*24*time.Hour {
		t.Errorf("the certificate is valid for %s", left)
	}
}

func TestKubeconfigIsRenewedInTime(t *testing.T) {
	_, server := newAuthority(t, "server")
	_, otherServer := newAuthority(t, "server")
	signer, _ := newAuthority(t, "client")
	value, err := newKubeconfig("demo", "https://10.0.0.1:6443", server, signer)
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://10.0.0.1:6443"
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		value  []byte
		url    string
		server []byte
		after  time.Duration
		want   bool
	}{
		"new":                        {value, url, server, 0, true},
		"before half of its life":    {value, url, server, 181 * day, true},
		"after half of its life":     {value, url, server, 184 * day, false},
		"another endpoint":           {value, "https://10.0.0.2:6443", server, 0, false},
		"another server authority":   {value, url, otherServer, 0, false},
		"not readable":               {[]byte("{"), url, server, 0, false},
		"empty":                      {nil, url, server, 0, false},
		"more certificates in a row": {value, url, append(append([]byte{}, server...), otherServer...), 0, true},
	} {
		if got := kubeconfigFits(test.value, test.url, test.server, time.Now().Add(test.after)); got != test.want {
			t.Errorf("%s: fits is %v", name, got)
		}
	}
}

func TestWithController(t *testing.T) {
	owner := metav1.OwnerReference{APIVersion: "controlplane.cluster.x-k8s.io/v1beta2", Kind: "RKE2ControlPlane", Name: "demo", UID: "2", Controller: ptr.To(true)}
	old := owner
	old.UID, old.APIVersion = "1", "controlplane.cluster.x-k8s.io/v1beta1"
	foreign := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "demo", UID: "3", Controller: ptr.To(true)}
	follower := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "demo", UID: "3"}
	config := metav1.OwnerReference{APIVersion: "bootstrap.cluster.x-k8s.io/v1beta1", Kind: "RKE2Config", Name: "demo-x", UID: "4", Controller: ptr.To(true)}
	inVersion := owner
	inVersion.APIVersion = "controlplane.cluster.x-k8s.io/v1beta1"
	inNoControl := owner
	inNoControl.Controller = nil
	for name, test := range map[string]struct{ refs, want []metav1.OwnerReference }{
		"none":                         {nil, []metav1.OwnerReference{owner}},
		"there already":                {[]metav1.OwnerReference{owner}, []metav1.OwnerReference{owner}},
		"identity of a backup":         {[]metav1.OwnerReference{old}, []metav1.OwnerReference{owner}},
		"both identities":              {[]metav1.OwnerReference{old, inNoControl}, []metav1.OwnerReference{owner}},
		"another version of the API":   {[]metav1.OwnerReference{inVersion}, []metav1.OwnerReference{owner}},
		"no controller yet":            {[]metav1.OwnerReference{follower, inNoControl}, []metav1.OwnerReference{follower, owner}},
		"the config of a first server": {[]metav1.OwnerReference{config}, []metav1.OwnerReference{owner}},
		"another controller":           {[]metav1.OwnerReference{foreign}, []metav1.OwnerReference{foreign}},
		"an owner in no control":       {[]metav1.OwnerReference{follower}, []metav1.OwnerReference{follower, owner}},
	} {
		if diff := cmp.Diff(test.want, withController(test.refs, owner)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What a user brought is moved along without becoming ours.
func TestSecretsOfUsersAreMoved(t *testing.T) {
	for name, test := range map[string]struct {
		secret corev1.Secret
		want   map[string]string
	}{
		"new":            {corev1.Secret{}, map[string]string{moveLabel: ""}},
		"labelled":       {corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{moveLabel: "no", "a": "b"}}}, map[string]string{moveLabel: "no", "a": "b"}},
		"owned by other": {corev1.Secret{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Name: "x"}}}}, nil},
	} {
		if diff := cmp.Diff(test.want, movable(&test.secret)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	ten, five := ptr.To[int32](10), ptr.To[int32](5)
	owned := fields{"f:nodeDeletionTimeoutSeconds": map[string]any{}}
	for name, test := range map[string]struct {
		have, want clusterv1.MachineDeletionSpec
		owned      fields
		result     clusterv1.MachineDeletionSpec
	}{
		"a default stays":       {have: clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: ten}, result: clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: ten}},
		"ours is taken back":    {have: clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: ten}, owned: owned},
		"a new one":             {want: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}, result: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}},
		"another one":           {have: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: ten}, want: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}, result: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}},
		"the same by its value": {have: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}, want: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: ptr.To[int32](5)}, result: clusterv1.MachineDeletionSpec{NodeDrainTimeoutSeconds: five}},
	} {
		got := withLimits(test.have, test.want, test.owned)
		if got != test.result {
			t.Errorf("%s: %+v", name, got)
		}
		if differs := limitsDiffer(test.have, test.want, test.owned); differs != (got != test.have) {
			t.Errorf("%s: differs is %v", name, differs)
		}
	}
}

func TestOursToChange(t *testing.T) {
	s := &scope.Scope{ControlPlane: &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", UID: "1"}}}
	by := func(group, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: group + "/v1beta1", Kind: kind, Name: "demo", Controller: ptr.To(true)}}
	}
	for name, test := range map[string]struct {
		secret corev1.Secret
		want   bool
	}{
		"a user's":              {corev1.Secret{Type: corev1.SecretTypeOpaque}, false},
		"nobody's, of our type": {corev1.Secret{Type: secrets.Type}, true},
		"taken over":            {corev1.Secret{Type: corev1.SecretTypeOpaque, ObjectMeta: metav1.ObjectMeta{OwnerReferences: by("controlplane.cluster.x-k8s.io", "RKE2ControlPlane")}}, true},
		"another controller's":  {corev1.Secret{Type: secrets.Type, ObjectMeta: metav1.ObjectMeta{OwnerReferences: by("example.com", "RKE2ControlPlane")}}, false},
	} {
		if got := oursToChange(&test.secret, s); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhatIsNoProblem(t *testing.T) {
	content := &secrets.ContentError{Secret: client.ObjectKey{Name: "demo-ca"}, Problem: "key tls.crt is missing"}
	broken := errors.New("no route")
	if err := onlyProblems(errors.Join(nil, content, fmt.Errorf("Secret demo-cca: %w", content))); err != nil {
		t.Errorf("what the Snapshot tells anyway is reported as %v", err)
	}
	if err := onlyProblems(errors.Join(content, broken)); err == nil || err.Error() != "no route" {
		t.Errorf("got %v", err)
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "demo-1", broken)
	if err := onlyProblems(fmt.Errorf("Machine demo-1: %w", conflict)); err != nil {
		t.Errorf("a conflict is reported as %v", err)
	}
	if onlyProblems(nil) != nil {
		t.Error("nothing became an error")
	}
}

func TestServersMayExist(t *testing.T) {
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "a", Labels: map[string]string{
		clusterv1.ClusterNameLabel: "demo", clusterv1.MachineControlPlaneLabel: "",
	}}}
	for name, test := range map[string]struct {
		change func(s *scope.Scope)
		live   []client.Object
		want   bool
	}{
		"new":         {change: func(*scope.Scope) {}},
		"initialized": {func(s *scope.Scope) { s.ControlPlane.Status.Initialization.ControlPlaneInitialized = ptr.To(true) }, nil, true},
		"initialized before a move": {func(s *scope.Scope) {
			s.ControlPlane.Annotations = map[string]string{controlplanev1.InitializedAnnotation: "true"}
		}, nil, true},
		"begun": {func(s *scope.Scope) {
			s.ControlPlane.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: "drover"}
		}, nil, true},
		"a Machine":                         {func(s *scope.Scope) { s.Machines = map[string]*clusterv1.Machine{"a": {}} }, nil, true},
		"a Machine the cache does not show": {func(*scope.Scope) {}, []client.Object{machine}, true},
	} {
		s := &scope.Scope{
			ControlPlane: &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"}},
			Cluster:      &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "demo"}},
		}
		test.change(s)
		scheme := runtime.NewScheme()
		if err := clusterv1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		u := &Upkeep{Live: fake.NewClientBuilder().WithScheme(scheme).WithObjects(test.live...).Build()}
		if got, err := u.serversMayExist(t.Context(), s); err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
