package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

func TestChangeOfAgreement(t *testing.T) {
	encrypted := func(provider controlplanev1.SecretsEncryptionProvider, key *corev1.ObjectReference) func(*controlPlane) {
		return func(cp *controlPlane) {
			cp.Spec.ServerConfig.SecretsEncryption = &controlplanev1.SecretsEncryption{Provider: provider, EncryptionKeySecret: key}
		}
	}
	disabled := func(parts ...controlplanev1.DisabledKubernetesComponent) func(*controlPlane) {
		return func(cp *controlPlane) { cp.Spec.ServerConfig.DisableComponents.KubernetesComponents = parts }
	}
	cni := func(name controlplanev1.CNI) func(*controlPlane) {
		return func(cp *controlPlane) { cp.Spec.ServerConfig.CNI = name }
	}
	datastore := func(name string) func(*controlPlane) {
		return func(cp *controlPlane) {
			cp.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Name: name}
		}
	}
	asItWas := func(*controlPlane) {}
	const path = "spec.serverConfig."
	for name, c := range map[string]struct {
		was, now func(*controlPlane)
		want     want
	}{
		"cluster domain": {was: asItWas, now: func(cp *controlPlane) { cp.Spec.ServerConfig.ClusterDomain = "a.example" }, want: want{Errors: []string{
			path + `clusterDomain: Invalid value: "a.example": all servers of a cluster have to agree on cluster-domain, so a rollout cannot change it, its first new server could not join: restore "", or create a new cluster`}}},
		"cluster DNS":      {was: asItWas, now: func(cp *controlPlane) { cp.Spec.ServerConfig.ClusterDNS = "10.0.0.10" }, want: want{Errors: []string{path + `clusterDNS: Invalid value: "10.0.0.10": all servers of a cluster have to agree on cluster-dns`}}},
		"metrics":          {was: asItWas, now: func(cp *controlPlane) { cp.Spec.ServerConfig.SupervisorMetrics = true }, want: want{Errors: []string{path + `supervisorMetrics: Invalid value: "true"`}}},
		"registry":         {was: asItWas, now: func(cp *controlPlane) { cp.Spec.ServerConfig.EmbeddedRegistry = true }, want: want{Errors: []string{path + `embeddedRegistry: Invalid value: "true"`}}},
		"kube-proxy":       {was: asItWas, now: disabled(controlplanev1.DisableKubeProxy), want: want{Errors: []string{path + `disableComponents.kubernetesComponents: Invalid value: "kubeProxy listed": all servers of a cluster have to agree on disable-kube-proxy`}}},
		"cloud controller": {was: disabled(controlplanev1.DisableCloudController), now: asItWas, want: want{Errors: []string{path + `disableComponents.kubernetesComponents: Invalid value: "cloudController not listed": all servers of a cluster have to agree on disable-cloud-controller`}}},
		"scheduler":        {was: asItWas, now: disabled(controlplanev1.DisableScheduler)},
		"order":            {was: disabled(controlplanev1.DisableKubeProxy, controlplanev1.DisableScheduler), now: disabled(controlplanev1.DisableScheduler, controlplanev1.DisableKubeProxy)},
		"encryption":       {was: asItWas, now: encrypted("secretbox", nil), want: want{Errors: []string{path + `secretsEncryption.provider: Invalid value: "secretbox": all servers of a cluster have to agree on secrets-encryption-provider`}}},
		"the default one":  {was: asItWas, now: encrypted("aescbc", nil)},
		"none given":       {was: encrypted("", nil), now: asItWas},
		"key": {was: encrypted("", &corev1.ObjectReference{Name: "a"}), now: encrypted("", &corev1.ObjectReference{Name: "b"}), want: want{Errors: []string{
			path + `secretsEncryption.encryptionKeySecret: Invalid value: "own/b": all servers of a cluster have to agree on the key Secrets are encrypted with, so a rollout cannot change it, its first new server could not join: restore "own/a"`}}},
		"key, same place":   {was: encrypted("", &corev1.ObjectReference{Name: "a"}), now: encrypted("", &corev1.ObjectReference{Name: "a", Namespace: "own", Kind: "Secret"})},
		"datastore":         {was: asItWas, now: externalDatastore, want: want{Errors: []string{path + `externalDatastoreSecret: Invalid value: "an external datastore": all servers of a cluster have to agree on where the cluster's data are, so a rollout cannot change it, its first new server could not join: restore "embedded etcd"`}}},
		"another datastore": {was: datastore("a"), now: datastore("b"), want: want{Warnings: []string{path + "externalDatastoreSecret: new servers use the datastore that Secret own/b describes: it has to be the same one as before"}}},
		"network plugin":    {was: cni("canal"), now: cni("cilium"), want: want{Warnings: []string{path + `cni: RKE2 installs "cilium" beside the running network plugin "canal" and does not migrate pods`}}},
		"anything else":     {was: asItWas, now: func(cp *controlPlane) { cp.Spec.ServerConfig.TLSSan = []string{"a"} }},
	} {
		t.Run(name, func(t *testing.T) {
			stored, object := valid(c.was), valid(c.now)
			findingtest.Check(t, Validate(stored, object, false), want{})
			running("v1.35.3+rke2r1")(stored)
			findingtest.Check(t, Validate(stored, object, false), c.want)
			stored = valid(c.was, func(cp *controlPlane) {
				cp.Annotations = map[string]string{controlplanev1.InitializedAnnotation: "true"}
			})
			findingtest.Check(t, Validate(stored, object, false), c.want)
		})
	}
}
