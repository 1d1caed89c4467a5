package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// From nothing to webhooks that answer, and then no write any more.
func TestFirstStart(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "first")
	server := s.serve(t)
	g.Eventually(s.asked(t.Context())).WithTimeout(2 * time.Minute).Should(BeTrue())
	g.Expect(server.StartedChecker()(nil)).To(Succeed())

	secret := s.secret(t)
	g.Expect(secret.Type).To(Equal(corev1.SecretTypeTLS))
	g.Eventually(func() [][]byte { bundles, _ := s.callers(t); return bundles }).
		Should(HaveEach(secret.Data[trustKey]), "the callers know the authority in the Secret")

	_, before := s.callers(t)
	_, err := server.keeper.round(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	_, after := s.callers(t)
	g.Expect(after).To(Equal(before), "callers were written without a reason")
	g.Expect(s.secret(t).ResourceVersion).To(Equal(secret.ResourceVersion), "the Secret was written without a reason")
}

// A manager that stood still for a year comes back.
func TestExpiredCertificateIsReplaced(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "expired")
	old, _, err := s.options.renew(nil, time.Now().Add(-servingLife-48*time.Hour))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "expired", Name: s.options.Secret}, Type: corev1.SecretTypeTLS, Data: old,
	})).To(Succeed())

	s.serve(t)
	g.Eventually(s.asked(t.Context())).WithTimeout(2 * time.Minute).Should(BeTrue())
	data := s.secret(t).Data
	g.Expect(bytes.Equal(data[corev1.TLSCertKey], old[corev1.TLSCertKey])).To(BeFalse(), "the expired certificate is still there")
	g.Expect(data[trustKey]).To(Equal(old[trustKey]), "the authority was good and is kept")
}

// served is a change of what a server serves.
func served(t *testing.T, server *Server, before *tls.Certificate) func() bool {
	t.Helper()
	return func() bool {
		after, err := server.keeper.certificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return !bytes.Equal(after.Certificate[0], before.Certificate[0])
	}
}

// Somebody overwrites the certificate, or what the callers know, or deletes the
// Secret, while the manager runs: all is mended at once.
func TestChangesAreSeen(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(40 * time.Second)
	s := newSite(t, "running")
	server := s.serve(t)
	g.Eventually(s.asked(t.Context())).WithTimeout(2 * time.Minute).Should(BeTrue())
	told := func() [][]byte { bundles, _ := s.callers(t); return bundles }

	before, err := server.keeper.certificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	secret := s.secret(t)
	secret.Data = shortLived(t, s.options, secret.Data)
	g.Expect(kube.Update(t.Context(), secret)).To(Succeed())
	g.Eventually(served(t, server, before)).Should(BeTrue(), "it still serves with the old certificate")
	g.Eventually(func() time.Time {
		after, err := server.keeper.certificate(nil)
		g.Expect(err).NotTo(HaveOccurred())
		return after.Leaf.NotAfter
	}).Should(BeTemporally(">", time.Now().Add(servingReserve)))

	trust := s.secret(t).Data[trustKey]
	g.Eventually(told).Should(HaveEach(trust))
	s.mutating.Webhooks[0].ClientConfig.CABundle = nil
	s.validating.Webhooks[0].ClientConfig.CABundle = nil
	s.crd.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
	for _, caller := range []client.Object{s.mutating, s.validating, s.crd} {
		g.Expect(kube.Update(t.Context(), caller)).To(Succeed())
		g.Eventually(told).Should(HaveEach(trust), "%T", caller)
	}

	g.Expect(kube.Delete(t.Context(), secret)).To(Succeed())
	g.Eventually(func() error { return kube.Get(t.Context(), s.options.key(), secret) }).Should(Succeed())
	g.Expect(secret.Data[trustKey]).NotTo(Equal(trust))
	g.Eventually(told).Should(HaveEach(secret.Data[trustKey]))
	g.Eventually(s.asked(t.Context())).WithTimeout(2 * time.Minute).Should(BeTrue())
}

// A certificate is renewed when it is time, though nothing happens then.
func TestRenewalInTime(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "renewal")
	start := time.Now()
	data, _, err := s.options.renew(nil, start)
	g.Expect(err).NotTo(HaveOccurred())
	end, err := due(data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(end).To(BeTemporally("~", start.Add(servingLife-servingReserve), time.Second))
	g.Expect(kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "renewal", Name: s.options.Secret}, Type: corev1.SecretTypeTLS, Data: data,
	})).To(Succeed())

	// The clock stands still just before, until the old certificate was seen.
	var passed atomic.Int64
	s.options.Now = func() time.Time { return end.Add(-2*time.Second + time.Duration(passed.Load())) }
	server := s.serve(t)
	g.Eventually(s.asked(t.Context())).WithTimeout(2 * time.Minute).Should(BeTrue())
	before, err := server.keeper.certificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(before.Leaf.NotAfter).To(BeTemporally("~", start.Add(servingLife), time.Second))
	version := s.secret(t).ResourceVersion
	passed.Store(int64(time.Hour))
	g.Eventually(served(t, server, before)).WithTimeout(40 * time.Second).Should(BeTrue())
	g.Expect(s.secret(t).ResourceVersion).NotTo(Equal(version))
}

// Somebody writes whenever the keeper is about to: it sees what was written, and
// has nothing to complain of.
func TestConflicts(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "conflicts")
	outrun := map[string]bool{}
	touch := func(ctx context.Context, object client.Object) error {
		kind := fmt.Sprintf("%T", object)
		if outrun[kind] {
			return nil
		}
		outrun[kind] = true
		return kube.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)))
	}
	live, err := client.NewWithWatch(config, client.Options{Scheme: kube.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	between := interceptor.NewClient(live, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			other := object.DeepCopyObject().(*corev1.Secret)
			other.Data = shortLived(t, s.options, maps.Clone(other.Data))
			if err := kube.Create(ctx, other); err != nil {
				return err
			}
			return c.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := touch(ctx, object); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})
	k := &keeper{client: between, options: s.options}
	result, err := k.reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically("~", servingLife-servingReserve, time.Minute))
	g.Expect(outrun).To(HaveLen(4), "%v", outrun)
	bundles, _ := s.callers(t)
	secret := s.secret(t)
	g.Expect(bundles).To(HaveEach(secret.Data[trustKey]))
	for _, object := range []client.Object{secret, s.mutating, s.validating, s.crd} {
		g.Expect(object.GetLabels()).To(HaveKey("touched"), "%T: what somebody else wrote is lost", object)
	}
}

// shortLived replaces the certificate by one that ends tomorrow.
func shortLived(t *testing.T, o Options, data map[string][]byte) map[string][]byte {
	t.Helper()
	authority := o.authority(data, time.Now())
	certificate, key, err := o.issuer().CreateCertPEM(authority, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey] = certificate, key
	return data
}

// Replicas that start at once end with the same certificate.
func TestTwoReplicas(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "twice")
	first := &keeper{client: kube, options: s.options}
	second := &keeper{client: kube, options: s.options}
	ended := make(chan error, 2)
	for _, k := range []*keeper{first, second} {
		go func() { ended <- k.first(t.Context()) }()
	}
	for range 2 {
		g.Expect(<-ended).To(Succeed())
	}
	for _, k := range []*keeper{first, second} {
		_, err := k.round(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
	}
	a, err := first.certificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	b, err := second.certificate(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Certificate).To(Equal(b.Certificate))
}

// What is missing is named, and what is there is kept all the same.
func TestMissingCaller(t *testing.T) {
	g := NewWithT(t)
	s := newSite(t, "missing")
	s.options.Mutating = append([]string{"nobody"}, s.options.Mutating...)
	k := &keeper{client: kube, options: s.options}
	_, err := k.round(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring(`"nobody" not found`)))
	bundles, _ := s.callers(t)
	g.Expect(bundles).To(HaveEach(s.secret(t).Data[trustKey]))
}

// A handshake before there is a certificate fails instead of ending the server.
func TestNoCertificateYet(t *testing.T) {
	if _, err := (&keeper{}).certificate(nil); err == nil {
		t.Error("there is a certificate that nobody issued")
	}
}
