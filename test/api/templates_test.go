package api_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

var generateName = metav1.ObjectMeta{Namespace: namespace, GenerateName: "object-"}

// Objects written from Go with nothing set have to be valid: no empty object may be sent where the schema wants at
// least one property.
func TestEmptySpecsAccepted(t *testing.T) {
	for name, object := range map[string]client.Object{
		"config":                 &bootstrapv1.RKE2Config{ObjectMeta: generateName},
		"config template":        &bootstrapv1.RKE2ConfigTemplate{ObjectMeta: generateName},
		"control plane template": &controlplanev1.RKE2ControlPlaneTemplate{ObjectMeta: generateName},
	} {
		t.Run(name, func(t *testing.T) {
			if err := kube.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestConfigRefused(t *testing.T) {
	ref := &bootstrapv1.FileSourceRef{Name: "name", Key: "key"}
	for name, c := range map[string]struct {
		spec bootstrapv1.RKE2ConfigSpec
		want string
	}{
		"two sources": {
			bootstrapv1.RKE2ConfigSpec{Files: []bootstrapv1.File{
				{Path: "/f", ContentFrom: &bootstrapv1.FileSource{Secret: ref, ConfigMap: ref}}}},
			"Only configMap or secret can be populated at once"},
		"config and data": {
			bootstrapv1.RKE2ConfigSpec{AgentConfig: bootstrapv1.RKE2AgentConfig{
				AdditionalUserData: bootstrapv1.AdditionalUserData{
					Config: "a: b", Data: map[string]string{"a": "b"}}}},
			"Only config or data could be populated at once"},
		"unknown format": {
			bootstrapv1.RKE2ConfigSpec{AgentConfig: bootstrapv1.RKE2AgentConfig{Format: "toml"}},
			`supported values: "cloud-config", "ignition"`},
	} {
		t.Run(name, func(t *testing.T) {
			object := &bootstrapv1.RKE2Config{ObjectMeta: generateName, Spec: c.spec}
			refused(t, kube.Create(t.Context(), object, client.DryRunAll), c.want)
		})
	}
}

func TestControlPlaneTemplateRefused(t *testing.T) {
	object := &controlplanev1.RKE2ControlPlaneTemplate{ObjectMeta: generateName}
	object.Spec.Template.Spec.RolloutStrategy = surge(intstr.FromString("1"))
	refused(t, kube.Create(t.Context(), object, client.DryRunAll), "maxSurge must be the integer 0 or 1")
}

// What is written from Go comes back as it was, through every level of nesting.
func TestConfigRoundTrip(t *testing.T) {
	ctx := t.Context()
	object := &bootstrapv1.RKE2Config{ObjectMeta: generateName, Spec: bootstrapv1.RKE2ConfigSpec{
		PrivateRegistriesConfig: bootstrapv1.Registry{
			Mirrors: map[string]bootstrapv1.Mirror{"docker.io": {Endpoint: []string{"https://mirror"}}},
			Configs: map[string]bootstrapv1.RegistryConfig{"mirror": {
				AuthSecret: corev1.ObjectReference{Name: "login"},
				TLS:        bootstrapv1.TLSConfig{InsecureSkipVerify: true},
			}},
		},
	}}
	want := object.Spec.DeepCopy()
	create(ctx, t, object)
	stored := &bootstrapv1.RKE2Config{}
	if err := kube.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		t.Fatal(err)
	}
	config := stored.Spec.PrivateRegistriesConfig.Configs["mirror"]
	if config != want.PrivateRegistriesConfig.Configs["mirror"] {
		t.Errorf("got %+v", config)
	}
	if got := stored.Spec.PrivateRegistriesConfig.Mirrors["docker.io"].Endpoint; len(got) != 1 || got[0] != "https://mirror" {
		t.Errorf("got %v", got)
	}
}
