package v1beta2

import (
	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// CNI is a network plugin RKE2 ships.
// +kubebuilder:validation:Enum=none;calico;canal;cilium
type CNI string

const (
	// None installs no network plugin; the user brings one.
	None CNI = "none"
	// Calico installs Calico.
	Calico CNI = "calico"
	// Canal installs Canal.
	Canal CNI = "canal"
	// Cilium installs Cilium.
	Cilium CNI = "cilium"
)

// DisabledKubernetesComponent is a Kubernetes component RKE2 can leave out.
// +kubebuilder:validation:Enum=scheduler;kubeProxy;cloudController
type DisabledKubernetesComponent string

const (
	// DisableScheduler leaves kube-scheduler out (disable-scheduler).
	DisableScheduler DisabledKubernetesComponent = "scheduler"
	// DisableKubeProxy leaves kube-proxy out (disable-kube-proxy).
	DisableKubeProxy DisabledKubernetesComponent = "kubeProxy"
	// DisableCloudController leaves the cloud controller manager out (disable-cloud-controller).
	DisableCloudController DisabledKubernetesComponent = "cloudController"
)

// DisabledPluginComponent is a packaged chart RKE2 can leave out.
// +kubebuilder:validation:Enum=rke2-coredns;rke2-ingress-nginx;rke2-metrics-server;rke2-snapshot-controller;rke2-snapshot-controller-crd;rke2-snapshot-validation-webhook;rke2-traefik;rke2-traefik-crd
type DisabledPluginComponent string

// IngressController is an ingress controller RKE2 ships.
// +kubebuilder:validation:Enum=none;traefik;ingress-nginx
type IngressController string

// SecretsEncryptionProvider is an encryption scheme for Secrets in etcd.
// +kubebuilder:validation:Enum=aescbc;secretbox
type SecretsEncryptionProvider string

// RKE2ServerConfig holds the settings only servers have. Most become a key of /etc/rancher/rke2/config.yaml, named in
// parentheses.
type RKE2ServerConfig struct {
	// auditPolicySecret names a Secret whose key audit-policy.yaml is the API server's audit policy
	// (audit-policy-file).
	// +optional
	AuditPolicySecret *corev1.ObjectReference `json:"auditPolicySecret,omitempty"`

	// bindAddress is the address the server listens on (bind-address).
	// +optional
	BindAddress string `json:"bindAddress,omitempty"`

	// advertiseAddress is the address the API server announces to the cluster (advertise-address).
	// +optional
	AdvertiseAddress string `json:"advertiseAddress,omitempty"`

	// tlsSan are further host names and addresses for the server's certificate (tls-san). The endpoint of the Cluster
	// is always added.
	// +optional
	TLSSan []string `json:"tlsSan,omitempty"`

	// serviceNodePortRange is the port range of NodePort services (service-node-port-range).
	// +optional
	ServiceNodePortRange string `json:"serviceNodePortRange,omitempty"`

	// clusterDNS is the address of the cluster's DNS service (cluster-dns).
	// +optional
	ClusterDNS string `json:"clusterDNS,omitempty"`

	// clusterDomain is the DNS domain of the cluster (cluster-domain). All servers have to agree on it.
	// +optional
	ClusterDomain string `json:"clusterDomain,omitempty"`

	// disableComponents are parts of RKE2 to leave out.
	// +optional
	DisableComponents DisableComponents `json:"disableComponents,omitempty,omitzero"`

	// cni is the network plugin (cni). Not set means RKE2's default.
	// +optional
	CNI CNI `json:"cni,omitempty"`

	// cniMultusEnable installs Multus in front of cni.
	// +optional
	CNIMultusEnable bool `json:"cniMultusEnable,omitempty"`

	// ingressController are the ingress controllers to install (ingress-controller), the first being the default one.
	// +optional
	IngressController []IngressController `json:"ingressController,omitempty"`

	// pauseImage is the image of the pause container (pause-image).
	// +optional
	PauseImage string `json:"pauseImage,omitempty"`

	// etcd sets up etcd and its snapshots.
	// +optional
	Etcd EtcdConfig `json:"etcd,omitempty,omitzero"`

	// secretsEncryption chooses how Secrets are encrypted in etcd.
	// +optional
	SecretsEncryption *SecretsEncryption `json:"secretsEncryption,omitempty"`

	// kubeAPIServer sets arguments, environment, mounts and image of kube-apiserver.
	// +optional
	KubeAPIServer *bootstrapv1.ComponentConfig `json:"kubeAPIServer,omitempty"`

	// kubeControllerManager sets arguments, environment, mounts and image of kube-controller-manager.
	// +optional
	KubeControllerManager *bootstrapv1.ComponentConfig `json:"kubeControllerManager,omitempty"`

	// kubeScheduler sets arguments, environment, mounts and image of kube-scheduler.
	// +optional
	KubeScheduler *bootstrapv1.ComponentConfig `json:"kubeScheduler,omitempty"`

	// cloudControllerManager sets arguments, environment, mounts and image of the cloud controller manager.
	// +optional
	CloudControllerManager *bootstrapv1.ComponentConfig `json:"cloudControllerManager,omitempty"`

	// cloudProviderName is the cloud provider (cloud-provider-name).
	// +optional
	CloudProviderName string `json:"cloudProviderName,omitempty"`

	// cloudProviderConfigMap names a ConfigMap whose key cloud-config is the cloud provider's configuration
	// (cloud-provider-config).
	// +optional
	CloudProviderConfigMap *corev1.ObjectReference `json:"cloudProviderConfigMap,omitempty"`

	// supervisorMetrics serves RKE2's own metrics on the supervisor port (supervisor-metrics).
	// +optional
	SupervisorMetrics bool `json:"supervisorMetrics,omitempty"`

	// embeddedRegistry switches the distributed image mirror between nodes on (embedded-registry).
	// +optional
	EmbeddedRegistry bool `json:"embeddedRegistry,omitempty"`

	// externalDatastoreSecret names a Secret with the key endpoint, and optionally ca.pem, cert.pem and key.pem, of a
	// datastore to use instead of embedded etcd (datastore-endpoint and its companions).
	// +optional
	ExternalDatastoreSecret *corev1.ObjectReference `json:"externalDatastoreSecret,omitempty"`
}

// DisableComponents lists parts of RKE2 to leave out.
type DisableComponents struct {
	// kubernetesComponents are Kubernetes components to leave out.
	// +optional
	KubernetesComponents []DisabledKubernetesComponent `json:"kubernetesComponents,omitempty"`

	// pluginComponents are packaged charts to leave out (disable).
	// +optional
	PluginComponents []DisabledPluginComponent `json:"pluginComponents,omitempty"`
}

// SecretsEncryption chooses how Secrets are encrypted in etcd.
type SecretsEncryption struct {
	// provider is the encryption scheme (secrets-encryption-provider).
	// +optional
	Provider SecretsEncryptionProvider `json:"provider,omitempty"`

	// encryptionKeySecret names a Secret whose key encryptionKey is the key to encrypt with. Not set means RKE2 makes
	// one.
	// +optional
	EncryptionKeySecret *corev1.ObjectReference `json:"encryptionKeySecret,omitempty"`
}
