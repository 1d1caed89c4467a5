package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1beta1 "github.com/drover-project/drover/api/bootstrap/v1beta1"
	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1beta1 "github.com/drover-project/drover/api/controlplane/v1beta1"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/conversion/conversiontest"
	"github.com/drover-project/drover/test/apiserver"
)

// Objects that another provider stored as v1beta1 are stored as v1beta2 after its CRDs were replaced by ours.
func TestStoredObjectsAreMigrated(t *testing.T) {
	g := NewWithT(t)
	scheme, err := Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	crds := apiserver.Drover.Read(t)
	for _, crd := range crds {
		store(crd, "v1beta1")
	}
	env := conversiontest.Start(t, scheme, crds)
	old := olderObjects()
	for _, object := range old {
		g.Expect(env.Client.Create(t.Context(), object)).To(Succeed())
	}

	for _, crd := range crds {
		g.Expect(env.Client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)).To(Succeed())
		store(crd, "v1beta2")
		g.Expect(env.Client.Update(t.Context(), crd)).To(Succeed(), "our CRD in place of one that stored v1beta1")
		g.Expect(crd.Status.StoredVersions).To(Equal([]string{"v1beta1", "v1beta2"}))
	}
	env.Serve(t, func(ctx context.Context, mgr ctrl.Manager) error {
		return addMigration(ctx, mgr, Options{Bootstrap: true, ControlPlane: true})
	})
	for _, crd := range crds {
		g.Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)).To(Succeed())
			g.Expect(crd.Status.StoredVersions).To(Equal([]string{"v1beta2"}))
		}, time.Minute, 100*time.Millisecond).Should(Succeed(), crd.Name)
	}

	// Without v1beta1 in the CRDs, an object still stored in it could not be read.
	for _, crd := range crds {
		g.Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd)).To(Succeed())
			crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1beta1" })
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
			g.Expect(env.Client.Update(t.Context(), crd)).To(Succeed())
		}, time.Minute, 100*time.Millisecond).Should(Succeed(), "the migrator writes to the CRD, too")
		g.Eventually(func() []string { return servedVersions(t, env, crd) }, time.Minute, 100*time.Millisecond).Should(Equal([]string{"v1beta2"}))
	}
	key := client.ObjectKeyFromObject(old[0])
	for _, object := range []client.Object{&bootstrapv1.RKE2Config{}, &bootstrapv1.RKE2ConfigTemplate{}, &controlplanev1.RKE2ControlPlaneTemplate{}} {
		g.Expect(env.Client.Get(t.Context(), key, object)).To(Succeed())
	}
	controlPlane := &controlplanev1.RKE2ControlPlane{}
	g.Expect(env.Client.Get(t.Context(), key, controlPlane)).To(Succeed())
	g.Expect(controlPlane.Spec.MachineTemplate.Spec.InfrastructureRef.Name).To(Equal("servers"))
	g.Expect(controlPlane.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds).To(Equal(ptr.To[int32](120)))
	g.Expect(controlPlane.Generation).To(Equal(int64(1)), "the spec means what it meant")
}

// store makes a version the one that objects are stored in.
func store(crd *apiextensionsv1.CustomResourceDefinition, version string) {
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
	}
}

// servedVersions asks the API server which versions of a kind it serves.
func servedVersions(t *testing.T, env *conversiontest.Environment, crd *apiextensionsv1.CustomResourceDefinition) []string {
	t.Helper()
	var served []string
	for _, version := range []string{"v1beta1", "v1beta2"} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: crd.Spec.Group + "/" + version, Kind: crd.Spec.Names.ListKind}}
		if env.Client.List(t.Context(), list) == nil {
			served = append(served, version)
		}
	}
	return served
}

// olderObjects is one object of each kind, as v1beta1.
func olderObjects() []client.Object {
	name := metav1.ObjectMeta{Namespace: "default", Name: "old"}
	spec := controlplanev1beta1.RKE2ControlPlaneSpec{
		Version:           "v1.31.0+rke2r1",
		InfrastructureRef: corev1.ObjectReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "DockerMachineTemplate", Name: "servers"},
		NodeDrainTimeout:  &metav1.Duration{Duration: 2 * time.Minute},
	}
	template := &controlplanev1beta1.RKE2ControlPlaneTemplate{ObjectMeta: name}
	template.Spec.Template.Spec = spec
	return []client.Object{
		&bootstrapv1beta1.RKE2Config{ObjectMeta: name},
		&bootstrapv1beta1.RKE2ConfigTemplate{ObjectMeta: name},
		&controlplanev1beta1.RKE2ControlPlane{ObjectMeta: name, Spec: spec},
		template,
	}
}
