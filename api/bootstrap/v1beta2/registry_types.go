package v1beta2

import corev1 "k8s.io/api/core/v1"

// Registry is the content of /etc/rancher/rke2/registries.yaml.
type Registry struct {
	// mirrors are the places images are pulled from instead of the registry that is the key. The key "*" stands for
	// every registry without an entry of its own.
	// +optional
	Mirrors map[string]Mirror `json:"mirrors,omitempty"`

	// configs hold credentials and TLS settings, by host (and port) of the registry or mirror.
	// +optional
	Configs map[string]RegistryConfig `json:"configs,omitempty"`
}

// Mirror lists the endpoints that stand in for a registry.
type Mirror struct {
	// endpoint lists the URLs to try, in order, before the registry itself.
	// +optional
	Endpoint []string `json:"endpoint,omitempty"`

	// rewrite maps regular expressions over image names to replacements, applied when pulling through the mirror.
	// +optional
	Rewrite map[string]string `json:"rewrite,omitempty"`
}

// RegistryConfig holds how to authenticate to one registry and how to verify it.
type RegistryConfig struct {
	// authSecret names a Secret with keys username and password, or with key identity-token.
	// Not set namespace means the namespace of the RKE2Config.
	// +optional
	AuthSecret corev1.ObjectReference `json:"authSecret,omitempty,omitzero"`

	// tls holds how the registry's certificate is verified and which client certificate is shown to it.
	// +optional
	TLS TLSConfig `json:"tls,omitempty,omitzero"`
}

// TLSConfig is the TLS part of a RegistryConfig.
type TLSConfig struct {
	// tlsConfigSecret names a Secret with any of the keys tls.crt, tls.key (client certificate) and ca.crt (the
	// authority that signed the registry's certificate).
	// +optional
	TLSConfigSecret corev1.ObjectReference `json:"tlsConfigSecret,omitempty,omitzero"`

	// insecureSkipVerify switches the verification of the registry's certificate off. Default false.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}
