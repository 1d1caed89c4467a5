package conversion

import (
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// The longest texts the schema of v1beta1 allows, in characters.
const (
	longestReason  = 256
	longestMessage = 10240
)

// resized is the condition of v1beta1 that is false while servers are added or removed.
const resized clusterv1beta1.ConditionType = "Resized"

// renamed are conditions that v1beta1 knows, by their type in v1beta2. In both versions True is the good state.
type renamed []struct {
	hub   string
	spoke clusterv1beta1.ConditionType
}

var controlPlaneNames = renamed{
	{controlplanev1.AvailableCondition, "Available"},
	{controlplanev1.CertificatesAvailableCondition, "CertificatesAvailable"},
	{controlplanev1.ControlPlaneComponentsHealthyCondition, "ControlPlaneComponentsHealthy"},
	{controlplanev1.EtcdClusterHealthyCondition, "EtcdClusterHealthy"},
	{controlplanev1.MachinesReadyCondition, "MachinesReady"},
	{controlplanev1.MachinesUpToDateCondition, "MachinesSpecUpToDate"},
}

var configNames = renamed{
	{bootstrapv1.ReadyCondition, clusterv1beta1.ReadyCondition},
	{bootstrapv1.CertificatesAvailableCondition, "CertificatesAvailable"},
	{bootstrapv1.DataSecretAvailableCondition, "DataSecretAvailable"},
}

// configConditions makes the conditions of a v1beta1 RKE2Config.
func configConditions(src []metav1.Condition) clusterv1beta1.Conditions {
	return configNames.convert(src)
}

// controlPlaneConditions makes the conditions of a v1beta1 RKE2ControlPlane: those it knows, Resized, and Ready, which
// sums them up and comes first.
func controlPlaneConditions(src []metav1.Condition) clusterv1beta1.Conditions {
	known := controlPlaneNames.convert(src)
	if c, ok := resizedCondition(src); ok {
		known = append(known, c)
	}
	if len(known) == 0 {
		return nil
	}
	ready := worst(known)
	ready.Type = clusterv1beta1.ReadyCondition
	return append(clusterv1beta1.Conditions{ready}, known...)
}

func (names renamed) convert(src []metav1.Condition) clusterv1beta1.Conditions {
	var out clusterv1beta1.Conditions
	for _, name := range names {
		if c := meta.FindStatusCondition(src, name.hub); c != nil {
			out = append(out, convertCondition(*c, name.spoke))
		}
	}
	return out
}

// convertCondition converts one condition. By the convention of v1beta1 a true one has no reason and message, and only
// a false one a severity.
func convertCondition(src metav1.Condition, name clusterv1beta1.ConditionType) clusterv1beta1.Condition {
	dst := clusterv1beta1.Condition{
		Type: name, Status: corev1.ConditionStatus(src.Status), LastTransitionTime: src.LastTransitionTime,
	}
	if src.Status == metav1.ConditionTrue {
		return dst
	}
	dst.Reason, dst.Message = cut(src.Reason, longestReason), cut(src.Message, longestMessage)
	if src.Status == metav1.ConditionFalse {
		dst.Severity = severity(src.Reason)
	}
	return dst
}

// severity is Info while something is only waited for.
func severity(reason string) clusterv1beta1.ConditionSeverity {
	if strings.HasPrefix(reason, "Waiting") || reason == controlplanev1.ScalingUpReason || reason == controlplanev1.ScalingDownReason {
		return clusterv1beta1.ConditionSeverityInfo
	}
	return clusterv1beta1.ConditionSeverityWarning
}

// resizedCondition is made from ScalingUp and ScalingDown, for which True means that there is something to do.
func resizedCondition(src []metav1.Condition) (clusterv1beta1.Condition, bool) {
	var out clusterv1beta1.Condition
	for _, name := range []string{controlplanev1.ScalingUpCondition, controlplanev1.ScalingDownCondition} {
		c := meta.FindStatusCondition(src, name)
		if c == nil {
			continue
		}
		scaling := *c
		switch c.Status {
		case metav1.ConditionTrue:
			scaling.Status = metav1.ConditionFalse
		case metav1.ConditionFalse:
			scaling.Status = metav1.ConditionTrue
		default: // Unknown means the same both ways.
		}
		converted := convertCondition(scaling, resized)
		if out.Type == "" {
			out = converted
			continue
		}
		out = worst(clusterv1beta1.Conditions{out, converted})
	}
	return out, out.Type != ""
}

// worst returns the first false condition, else the first unknown one, else the one that became true last.
func worst(conditions clusterv1beta1.Conditions) clusterv1beta1.Condition {
	rank := func(c clusterv1beta1.Condition) int {
		switch c.Status {
		case corev1.ConditionFalse:
			return 2
		case corev1.ConditionTrue:
			return 0
		default:
			return 1
		}
	}
	found := conditions[0]
	for _, c := range conditions[1:] {
		later := rank(c) == 0 && rank(found) == 0 && found.LastTransitionTime.Before(&c.LastTransitionTime)
		if rank(c) > rank(found) || later {
			found = c
		}
	}
	return found
}

// cut shortens a text to a number of characters.
func cut(text string, characters int) string {
	if utf8.RuneCountInString(text) <= characters {
		return text
	}
	return string([]rune(text)[:characters])
}
