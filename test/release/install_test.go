package release

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/test/loopback"
)

// installed is a plane with both providers and their running managers.
type installed struct {
	*plane
	bootstrap, controlPlane *manager
}

// installRelease installs both providers and runs their managers. The objects
// are the components, or what was made of them.
func (p *plane) installRelease(t *testing.T, bootstrap, controlPlane []*unstructured.Unstructured, more ...string) installed {
	t.Helper()
	first, second := loopback.Address(), loopback.Address()
	p.install(t, reachable(t, aggregated(t, bootstrap), first))
	p.install(t, reachable(t, aggregated(t, controlPlane), second))
	return installed{p, p.start(t, bootstrap, first, more...), p.start(t, controlPlane, second, more...)}
}

// The whole of an installation, with nothing but the rights of the release: on
// a cluster where another provider has stored objects in the older version, up
// to a cluster's first server, and back.
func TestInstall(t *testing.T) {
	t.Parallel()
	p := startPlane(t)
	old := p.storeOlderConfig(t)
	i := p.installRelease(t, released(t, "bootstrap-components.yaml", nil), released(t, "control-plane-components.yaml", nil))

	t.Run("objects of the older version are served and migrated", func(t *testing.T) { i.migrated(t, old) })
	t.Run("cluster templates are accepted", i.acceptsTemplates)
	t.Run("webhooks refuse", i.refuses)
	t.Run("what callers know is kept", i.tellsAgain)
	c := p.newCluster(t, "default", "first", nil)
	t.Run("the first server of a cluster", c.started)
	t.Run("deletion", c.deleted)
	t.Run("one manager of several is active", i.leads)
	t.Run("diagnostics ask who may read them", i.diagnosticsAreGuarded)
	for n, m := range []*manager{i.bootstrap, i.controlPlane} {
		i.stayedWithin(t, m.account)
		for _, role := range all[rbacv1.ClusterRole](t, released(t, components[n].file, nil), "ClusterRole") {
			switch strings.TrimPrefix(role.Name, components[n].prefix) {
			case "manager", "cluster-scope", "migration":
				i.usedItsRights(t, m.account, role)
			}
		}
	}
}

// storeOlderConfig leaves an object stored as v1beta1 by definitions that know
// no conversion.
func (p *plane) storeOlderConfig(t *testing.T) *bootstrapv1beta1.RKE2Config {
	t.Helper()
	for _, object := range released(t, "bootstrap-components.yaml", nil) {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := into[apiextensionsv1.CustomResourceDefinition](t, object)
		crd.Spec.Conversion = nil
		for v := range crd.Spec.Versions {
			crd.Spec.Versions[v].Storage = crd.Spec.Versions[v].Name == "v1beta1"
		}
		if err := p.apply(t.Context(), untyped(t, crd)); err != nil {
			t.Fatal(err)
		}
	}
	config := &bootstrapv1beta1.RKE2Config{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}
	config.Spec.PreRKE2Commands = []string{"true"}
	poll(t, func(ctx context.Context) error { return p.kube.Create(ctx, config) })
	return config
}

func (i installed) migrated(t *testing.T, old client.Object) {
	poll(t, func(ctx context.Context) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := i.kube.Get(ctx, client.ObjectKey{Name: "rke2configs.bootstrap.cluster.x-k8s.io"}, crd); err != nil {
			return err
		}
		if !slices.Equal(crd.Status.StoredVersions, []string{"v1beta2"}) {
			return fmt.Errorf("stored versions are %v", crd.Status.StoredVersions)
		}
		return nil
	})
	g := NewWithT(t)
	served := &bootstrapv1.RKE2Config{}
	g.Expect(i.kube.Get(t.Context(), client.ObjectKeyFromObject(old), served)).To(Succeed())
	g.Expect(served.Spec.PreRKE2Commands).To(Equal([]string{"true"}))
	older := &bootstrapv1beta1.RKE2Config{}
	g.Expect(i.kube.Get(t.Context(), client.ObjectKeyFromObject(old), older)).To(Succeed())
	g.Expect(older.Spec.PreRKE2Commands).To(Equal([]string{"true"}))
}

// refuses sends what the schema of v1beta1 allows, so that only the webhooks
// can refuse it.
func (i installed) refuses(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "bad"}
	controlPlane := &controlplanev1beta1.RKE2ControlPlane{ObjectMeta: meta}
	controlPlane.Spec.Version = "v1.36.3+rke2r1"
	controlPlane.Spec.Replicas = ptr.To[int32](0)
	controlPlane.Spec.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "RollingUpdate"}
	controlPlane.Spec.MachineTemplate.InfrastructureRef = corev1.ObjectReference{
		APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "LabMachineTemplate", Name: "none"}
	config := &bootstrapv1beta1.RKE2Config{ObjectMeta: meta}
	config.Spec.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{"registry.example.com": {}}
	for _, object := range []client.Object{controlPlane, config} {
		err := i.kube.Create(t.Context(), object)
		if err == nil || !strings.Contains(err.Error(), "admission webhook") {
			t.Errorf("%T: want the refusal of a webhook, got %v", object, err)
		}
	}
}

// tellsAgain takes the authority from everybody who has to know it. The managers
// see that.
func (i installed) tellsAgain(t *testing.T) {
	for n, objects := range [][]*unstructured.Unstructured{
		released(t, "bootstrap-components.yaml", nil), released(t, "control-plane-components.yaml", nil),
	} {
		mutating := one[admissionv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")
		validating := one[admissionv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")
		callers := map[client.Object]func() *[]byte{
			mutating:   func() *[]byte { return &mutating.Webhooks[0].ClientConfig.CABundle },
			validating: func() *[]byte { return &validating.Webhooks[0].ClientConfig.CABundle },
		}
		for _, name := range components[n].definitions {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
			callers[crd] = func() *[]byte { return &crd.Spec.Conversion.Webhook.ClientConfig.CABundle }
		}
		for caller, bundle := range callers {
			key := client.ObjectKeyFromObject(caller)
			var known []byte
			// The managers write to definitions for other reasons, too.
			poll(t, func(ctx context.Context) error {
				if err := i.kube.Get(ctx, key, caller); err != nil {
					return err
				}
				known = *bundle()
				*bundle() = nil
				return i.kube.Update(ctx, caller)
			})
			if len(known) == 0 {
				t.Fatalf("%T %s knew no authority", caller, key.Name)
			}
			poll(t, func(ctx context.Context) error {
				if err := i.kube.Get(ctx, key, caller); err != nil {
					return err
				}
				if !bytes.Equal(*bundle(), known) {
					return fmt.Errorf("%T %s does not know the authority again", caller, key.Name)
				}
				return nil
			})
		}
	}
}

// deleted takes the cluster down, as the Cluster's controller would.
func (c cluster) deleted(t *testing.T) {
	workers := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.name + "-workers"}}
	if err := c.plane.kube.Delete(t.Context(), workers); err != nil {
		t.Fatal(err)
	}
	controlPlane := c.controlPlane(t)
	if err := c.plane.kube.Delete(t.Context(), controlPlane); err != nil {
		t.Fatal(err)
	}
	poll(t, func(ctx context.Context) error {
		err := c.plane.kube.Get(ctx, client.ObjectKeyFromObject(controlPlane), controlPlane)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the control plane is still there: %v", err) //nolint:errorlint // nil means that it was found
	})
	if machines, err := c.machines(t.Context()); err != nil || len(machines) > 0 {
		t.Errorf("%d Machines are left: %v", len(machines), err)
	}
}

func (i installed) leads(t *testing.T) {
	for namespace, name := range map[string]string{
		"rke2-bootstrap-system":     "rke2-bootstrap-manager-leader-election-capi",
		"rke2-control-plane-system": "rke2-controlplane-manager-leader-election-capi",
	} {
		lease := &coordinationv1.Lease{}
		if err := i.kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, lease); err != nil {
			t.Fatal(err)
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			t.Errorf("nobody holds the lease %s/%s", namespace, name)
		}
	}
}

// diagnosticsAreGuarded reads the metrics with an account that may not: the
// answer shows that the manager could ask who it is and what it may do.
func (i installed) diagnosticsAreGuarded(t *testing.T) {
	stranger := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "stranger"}}
	if err := i.kube.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	token := i.token(t, stranger)
	// The certificate of the diagnostics is self-signed.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, m := range []*manager{i.bootstrap, i.controlPlane} {
		for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer " + token: http.StatusForbidden} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.diagnostics, nil)
			if err != nil {
				t.Fatal(err)
			}
			if header != "" {
				request.Header.Set("Authorization", header)
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
			if response.StatusCode != want {
				t.Errorf("%s answered %s, want %d", m.diagnostics, response.Status, want)
			}
		}
	}
}
