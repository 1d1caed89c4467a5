package v1beta2

import corev1 "k8s.io/api/core/v1"

// Format is the form of the bootstrap data.
// +kubebuilder:validation:Enum=cloud-config;ignition
type Format string

const (
	// CloudConfig is the YAML document cloud-init reads. It is the default.
	CloudConfig Format = "cloud-config"
	// Ignition is the JSON document Ignition reads.
	Ignition Format = "ignition"
)

// CISProfile is one of the hardening profiles RKE2 checks a node against.
// +kubebuilder:validation:Enum=cis;cis-1.23;cis-1.5;cis-1.6
type CISProfile string

const (
	// CIS is the profile for Kubernetes 1.25 and later.
	CIS CISProfile = "cis"
	// CIS123 is the older name of the same profile.
	CIS123 CISProfile = "cis-1.23"
	// CIS15 is a profile for Kubernetes before 1.25.
	CIS15 CISProfile = "cis-1.5"
	// CIS16 is a profile for Kubernetes before 1.25.
	CIS16 CISProfile = "cis-1.6"
)

// RKE2AgentConfig holds the settings every RKE2 node has. Most become a key of /etc/rancher/rke2/config.yaml.
type RKE2AgentConfig struct {
	// dataDir is the folder RKE2 keeps its state in (data-dir). RKE2's default is /var/lib/rancher/rke2.
	// +optional
	DataDir string `json:"dataDir,omitempty"`

	// nodeLabels are registered with the node, each as key=value (node-label).
	// +optional
	NodeLabels []string `json:"nodeLabels,omitempty"`

	// nodeAnnotations are set on the Node object: on servers kept in step with this field, on workers once at their
	// first boot.
	// +optional
	NodeAnnotations map[string]string `json:"nodeAnnotations,omitempty"`

	// nodeTaints are registered with the node, each as key=value:effect (node-taint).
	// +optional
	NodeTaints []string `json:"nodeTaints,omitempty"`

	// nodeName is the name the node registers with (node-name). It has to differ from machine to machine, so use a
	// cloud-init variable such as "{{ ds.meta_data.name }}" where several machines share this config.
	// +optional
	NodeName string `json:"nodeName,omitempty"`

	// ntp sets the time servers of the machine.
	// +optional
	NTP *NTP `json:"ntp,omitempty"`

	// imageCredentialProviderConfigMap names a ConfigMap with the keys credential-config.yaml (the kubelet's
	// credential provider configuration) and credential-provider-binaries (the folder of the binaries).
	// +optional
	ImageCredentialProviderConfigMap *corev1.ObjectReference `json:"imageCredentialProviderConfigMap,omitempty"`

	// containerRuntimeEndpoint is the CRI socket to use instead of the embedded containerd
	// (container-runtime-endpoint).
	// +optional
	ContainerRuntimeEndpoint string `json:"containerRuntimeEndpoint,omitempty"`

	// snapshotter is containerd's snapshotter (snapshotter).
	// +optional
	Snapshotter string `json:"snapshotter,omitempty"`

	// cisProfile is the hardening profile the node is checked against (profile). The machine is prepared for it.
	// +optional
	CISProfile CISProfile `json:"cisProfile,omitempty"`

	// podSecurityAdmissionConfigFile is the path, on the machine, of the Pod Security Admission configuration
	// (pod-security-admission-config-file).
	// +optional
	PodSecurityAdmissionConfigFile string `json:"podSecurityAdmissionConfigFile,omitempty"`

	// resolvConf names a ConfigMap whose key resolv.conf becomes the kubelet's resolv.conf (resolv-conf).
	// +optional
	ResolvConf *corev1.ObjectReference `json:"resolvConf,omitempty"`

	// protectKernelDefaults makes the kubelet fail when kernel settings differ from its defaults
	// (protect-kernel-defaults).
	// +optional
	ProtectKernelDefaults bool `json:"protectKernelDefaults,omitempty"`

	// systemDefaultRegistry is the registry all system images are pulled from (system-default-registry).
	// +optional
	SystemDefaultRegistry string `json:"systemDefaultRegistry,omitempty"`

	// enableContainerdSElinux switches SELinux in containerd on (selinux).
	// +optional
	EnableContainerdSElinux bool `json:"enableContainerdSElinux,omitempty"`

	// kubeletPath is the path, on the machine, of a kubelet to run instead of RKE2's own (kubelet-path).
	// +optional
	KubeletPath string `json:"kubeletPath,omitempty"`

	// kubelet sets arguments and environment of the kubelet. The kubelet is a host process, so extraMounts and
	// overrideImage have no meaning for it.
	// +optional
	Kubelet *ComponentConfig `json:"kubelet,omitempty"`

	// kubeProxy sets arguments, environment, mounts and image of kube-proxy.
	// +optional
	KubeProxy *ComponentConfig `json:"kubeProxy,omitempty"`

	// runtimeImage is the image RKE2's binaries are unpacked from (runtime-image).
	// +optional
	RuntimeImage string `json:"runtimeImage,omitempty"`

	// loadBalancerPort is the local port of the supervisor's client load balancer (lb-server-port).
	// +optional
	LoadBalancerPort int `json:"loadBalancerPort,omitempty"`

	// airGapped installs RKE2 from artifacts already on the machine (/opt/rke2-artifacts, /opt/install.sh) instead of
	// from the network.
	// +optional
	AirGapped bool `json:"airGapped,omitempty"`

	// airGappedChecksum is the SHA-256 checksum the artifacts' own checksum file must have. Used with airGapped only.
	// +optional
	AirGappedChecksum string `json:"airGappedChecksum,omitempty"`

	// install says where RKE2 is fetched from. It has no effect with airGapped, nor where the machine image has the
	// release installed already.
	// +optional
	Install *Install `json:"install,omitempty"`

	// proxy is what the machine reaches other networks through: RKE2, containerd and the commands of the bootstrap.
	// +optional
	Proxy *Proxy `json:"proxy,omitempty"`

	// format is the form of the bootstrap data. Not set means cloud-config.
	// +optional
	Format Format `json:"format,omitempty"`

	// additionalUserData is merged into the bootstrap data.
	// +optional
	AdditionalUserData AdditionalUserData `json:"additionalUserData,omitempty,omitzero"`
}

// NTP sets the time servers of a machine.
type NTP struct {
	// servers are the host names or addresses of the time servers.
	// +optional
	Servers []string `json:"servers,omitempty"`

	// enabled switches time synchronisation on. Not set means on as soon as there are servers.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`
}

// AdditionalUserData is user data of the user's own, merged into what the provider generates.
// +kubebuilder:validation:XValidation:rule="!has(self.data) || !has(self.config)",message="Only config or data could be populated at once"
type AdditionalUserData struct {
	// config is a whole document: cloud-config, or Butane when format is ignition. The parts the provider generates
	// itself (write_files, runcmd, ntp) are not taken from a cloud-config; use files and commands for those.
	// +optional
	Config string `json:"config,omitempty"`

	// data are top-level keys of the cloud-config with their YAML values. Not for Ignition.
	// +optional
	Data map[string]string `json:"data,omitempty"`

	// strict refuses config when compiling it as Butane gives any warning. Only for Ignition.
	// +optional
	Strict bool `json:"strict,omitempty"`
}

// ComponentConfig changes how RKE2 runs one component.
type ComponentConfig struct {
	// extraEnv are environment variables of the component.
	// +optional
	ExtraEnv map[string]string `json:"extraEnv,omitempty"`

	// extraArgs are command line arguments of the component, each as name=value without leading dashes.
	// +optional
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// extraMounts map paths of the machine to paths in the component's container.
	// +optional
	ExtraMounts map[string]string `json:"extraMounts,omitempty"`

	// overrideImage is the image to run instead of the one that belongs to the RKE2 release.
	// +optional
	OverrideImage string `json:"overrideImage,omitempty"`
}
