package controlplane

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
)

// agreement is a setting that RKE2 wants to be the same on all servers: one that
// joins with another value ends with "critical configuration value mismatch".
type agreement struct {
	path *field.Path
	// key of RKE2's configuration.
	key string
	// value as it has effect, in text.
	value string
}

// agreements lists them. Those RKE2 takes from the Cluster (cluster-cidr,
// service-cidr), or that have no field (agent-token, egress-selector-mode),
// cannot be changed here.
func agreements(cp *controlplanev1.RKE2ControlPlane) []agreement {
	s, path := &cp.Spec.ServerConfig, specPath.Child("serverConfig")
	disabled := func(c controlplanev1.DisabledKubernetesComponent) string {
		if slices.Contains(s.DisableComponents.KubernetesComponents, c) {
			return string(c) + " listed"
		}
		return string(c) + " not listed"
	}
	components := path.Child("disableComponents", "kubernetesComponents")
	provider, key := encryption(cp)
	return []agreement{
		{path.Child("clusterDNS"), "cluster-dns", s.ClusterDNS},
		{path.Child("clusterDomain"), "cluster-domain", s.ClusterDomain},
		{components, "disable-kube-proxy", disabled(controlplanev1.DisableKubeProxy)},
		{components, "disable-cloud-controller", disabled(controlplanev1.DisableCloudController)},
		{path.Child("embeddedRegistry"), "embedded-registry", fmt.Sprint(s.EmbeddedRegistry)},
		{path.Child("supervisorMetrics"), "supervisor-metrics", fmt.Sprint(s.SupervisorMetrics)},
		{path.Child("secretsEncryption", "provider"), "secrets-encryption-provider", provider},
		{path.Child("secretsEncryption", "encryptionKeySecret"), "the key Secrets are encrypted with", key},
		{path.Child("externalDatastoreSecret"), "where the cluster's data are", datastore(s)},
	}
}

func datastore(s *controlplanev1.RKE2ServerConfig) string {
	if s.ExternalDatastoreSecret == nil {
		return "embedded etcd"
	}
	return "an external datastore"
}

// encryption returns the scheme Secrets are encrypted with, and the Secret with
// the key.
func encryption(cp *controlplanev1.RKE2ControlPlane) (provider, key string) {
	const rke2Default = "aescbc"
	encryption := cp.Spec.ServerConfig.SecretsEncryption
	if encryption == nil {
		return rke2Default, ""
	}
	provider = string(encryption.Provider)
	if provider == "" {
		provider = rke2Default
	}
	return provider, target(encryption.EncryptionKeySecret, cp.Namespace)
}

// target is where a reference leads.
func target(ref *corev1.ObjectReference, namespace string) string {
	if ref == nil {
		return ""
	}
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	return namespace + "/" + ref.Name
}

// changeOfAgreement refuses changes no rollout can make. Before the first server
// has come up there is nothing to agree with.
func changeOfAgreement(l *finding.List, stored, object *controlplanev1.RKE2ControlPlane) {
	if !initialized(stored) {
		return
	}
	before := agreements(stored)
	for i, now := range agreements(object) {
		was := before[i].value
		if now.value == was {
			continue
		}
		l.Refuse(field.Invalid(now.path, now.value, fmt.Sprintf("all servers of a cluster have to agree on %s, so a rollout cannot change it, "+
			"its first new server could not join: restore %q, or create a new cluster", now.key, was)))
	}
	const cni = "cni"
	if now, was := object.Spec.ServerConfig.CNI, stored.Spec.ServerConfig.CNI; now != was {
		l.Warn(specPath.Child("serverConfig", cni), "RKE2 installs %q beside the running network plugin %q and does not migrate pods: "+
			"restore the former value unless you migrate by hand", now, was)
	}
	external := specPath.Child("serverConfig", "externalDatastoreSecret")
	now, was := object.Spec.ServerConfig.ExternalDatastoreSecret, stored.Spec.ServerConfig.ExternalDatastoreSecret
	if now != nil && was != nil && target(now, object.Namespace) != target(was, stored.Namespace) {
		l.Warn(external, "new servers use the datastore that Secret %s describes: it has to be the same one as before", target(now, object.Namespace))
	}
}
