package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RegistrationMethod says which address nodes join through.
// +kubebuilder:validation:Enum=internal-first;internal-only-ips;external-only-ips;address;control-plane-endpoint;""
type RegistrationMethod string

const (
	// RegistrationInternalFirst joins through the servers' internal addresses, or external ones where there are none.
	RegistrationInternalFirst RegistrationMethod = "internal-first"
	// RegistrationInternalOnlyIPs joins through the servers' internal addresses only.
	RegistrationInternalOnlyIPs RegistrationMethod = "internal-only-ips"
	// RegistrationExternalOnlyIPs joins through the servers' external addresses only.
	RegistrationExternalOnlyIPs RegistrationMethod = "external-only-ips"
	// RegistrationAddress joins through spec.registrationAddress.
	RegistrationAddress RegistrationMethod = "address"
	// RegistrationControlPlaneEndpoint joins through the endpoint of the Cluster. It is the default.
	RegistrationControlPlaneEndpoint RegistrationMethod = "control-plane-endpoint"
)

// RolloutSpec says when servers are replaced although nothing about them has changed, and how servers are replaced. Its
// fields have the names KubeadmControlPlane gives them.
type RolloutSpec struct {
	// before holds what makes a server be replaced before a certain time.
	// +optional
	Before RolloutBefore `json:"before,omitempty,omitzero"`

	// after is a time: once it has passed, servers made before it are replaced, even if nothing about them has changed.
	// For example "2026-03-09T09:00:00Z".
	// +optional
	After metav1.Time `json:"after,omitempty,omitzero"`

	// strategy is rolloutStrategy under the name KubeadmControlPlane gives it. Give maxSurge in one of the two.
	// +optional
	Strategy *RolloutStrategy `json:"strategy,omitempty"`
}

// RolloutBefore holds what makes a server be replaced before a certain time.
type RolloutBefore struct {
	// certificatesExpiryDays replaces a server whose API server has a certificate that expires within this number of
	// days. Not set means that certificates make no server be replaced. RKE2 renews certificates by itself only when
	// it starts.
	// +optional
	// +kubebuilder:validation:Minimum=7
	CertificatesExpiryDays *int32 `json:"certificatesExpiryDays,omitempty"`
}

// RolloutStrategyType names a way to replace servers.
type RolloutStrategyType string

// RollingUpdateStrategyType replaces the servers one after the other. It is the default and the only type there is.
const RollingUpdateStrategyType RolloutStrategyType = "RollingUpdate"

// RolloutStrategy says how servers are replaced when something about them has to change.
type RolloutStrategy struct {
	// type of the rollout. Only RollingUpdate is known. Not set means RollingUpdate.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == '' || self == 'RollingUpdate'",message="the type of a rollout must be RollingUpdate, the only one there is: set it or leave it out"
	Type RolloutStrategyType `json:"type,omitempty"`

	// rollingUpdate holds the settings of type RollingUpdate.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate holds the settings of a rolling update.
type RollingUpdate struct {
	// maxSurge is how many servers there may be above replicas while servers are replaced: 1 (the default) creates a
	// replacement first, 0 removes a server first and needs replicas of at least 3.
	// +optional
	// +kubebuilder:validation:XValidation:rule="type(self) == int",message="maxSurge must be the integer 0 or 1: percentages and other text are refused, because an etcd cluster grows by one member at a time"
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self == 0 || self == 1",message="maxSurge must be 0 or 1: an etcd cluster grows by one member at a time"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// RemediationStrategy limits how unhealthy servers are replaced.
type RemediationStrategy struct {
	// maxRetry is how many replacements in a row are tried when each replacement turns unhealthy too. Not set means
	// without end; 0 means a replacement is never itself replaced.
	// +optional
	MaxRetry *int32 `json:"maxRetry,omitempty"`

	// retryPeriod is how long to wait after a replacement before the next one in the same row, for example "20m".
	// +optional
	RetryPeriod metav1.Duration `json:"retryPeriod,omitempty,omitzero"`

	// minHealthyPeriod is how long a replacement has to stay healthy for the next failure to count as new and not as
	// another retry. Not set means 1h.
	// +optional
	MinHealthyPeriod *metav1.Duration `json:"minHealthyPeriod,omitempty"`
}

// RemediationSpec is RemediationStrategy with the names KubeadmControlPlane gives its fields.
type RemediationSpec struct {
	// maxRetry is how many replacements in a row are tried when each replacement turns unhealthy too. Not set means
	// without end; 0 means a replacement is never itself replaced.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxRetry *int32 `json:"maxRetry,omitempty"`

	// retryPeriodSeconds is how long to wait after a replacement before the next one in the same row, in seconds. Not set
	// means that the next one follows at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RetryPeriodSeconds *int32 `json:"retryPeriodSeconds,omitempty"`

	// minHealthyPeriodSeconds is how long a replacement has to stay healthy for the next failure to count as new and not
	// as another retry, in seconds. Not set means 3600.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinHealthyPeriodSeconds *int32 `json:"minHealthyPeriodSeconds,omitempty"`
}
