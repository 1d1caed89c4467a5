package v1beta2

// InstallMethod is a way RKE2's install script installs.
// +kubebuilder:validation:Enum=tar;rpm
type InstallMethod string

const (
	// InstallTar unpacks an archive.
	InstallTar InstallMethod = "tar"
	// InstallRPM installs packages.
	InstallRPM InstallMethod = "rpm"
)

// Install says where RKE2 is fetched from. Everything is fetched from RKE2's own places where nothing else is given.
type Install struct {
	// scriptURL is where the install script is. Not set means https://get.rke2.io.
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	ScriptURL string `json:"scriptURL,omitempty"`

	// scriptChecksum is the SHA-256 checksum the install script must have, in hexadecimal. The script itself checks what
	// it fetches against checksums that lie beside it.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{64}$`
	ScriptChecksum string `json:"scriptChecksum,omitempty"`

	// artifactURL is a mirror of https://github.com/rancher/rke2/releases/download (INSTALL_RKE2_ARTIFACT_URL).
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	ArtifactURL string `json:"artifactURL,omitempty"`

	// channelURL is a mirror of https://update.rke2.io/v1-release/channels (INSTALL_RKE2_CHANNEL_URL).
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	ChannelURL string `json:"channelURL,omitempty"`

	// method is how it is installed (INSTALL_RKE2_METHOD). Not set means that the script chooses by the distribution.
	// +optional
	Method InstallMethod `json:"method,omitempty"`
}

// Proxy is what a machine reaches other networks through.
type Proxy struct {
	// httpProxy is the URL of the proxy for http (HTTP_PROXY). A password in it can be read by whoever can read this
	// object.
	// +optional
	HTTPProxy string `json:"httpProxy,omitempty"`

	// httpsProxy is the URL of the proxy for https (HTTPS_PROXY).
	// +optional
	HTTPSProxy string `json:"httpsProxy,omitempty"`

	// noProxy are hosts, domains and address ranges that are reached without it (NO_PROXY). Added to them are the
	// machine itself, the cluster's pods, services and domain, its endpoint and the server that is joined through. Add
	// the network of the machines.
	// +optional
	// +listType=atomic
	NoProxy []string `json:"noProxy,omitempty"`
}
