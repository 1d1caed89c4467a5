package desired

import (
	"fmt"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// due is a moment from which on a Machine differs from what is wanted although
// nothing about it has changed.
type due struct {
	at     time.Time
	reason string
}

// dues are all such moments of a Machine, passed or to come.
func dues(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine, config *bootstrapv1.RKE2Config) []due {
	var out []due
	made := m.CreationTimestamp.Time
	for _, restart := range []struct {
		after time.Time
		by    string
	}{{cp.Spec.Rollout.After.Time, "rollout.after"}, {restartedAt(cp), "annotation " + controlplanev1.RestartedAtAnnotation}} {
		if !restart.after.IsZero() && made.Before(restart.after) {
			out = append(out, due{restart.after, fmt.Sprintf("made before %s (%s)", restart.after.UTC().Format(time.RFC3339), restart.by)})
		}
	}
	expiry, known := CertificatesExpiry(m, config)
	days := cp.Spec.Rollout.Before.CertificatesExpiryDays
	if !known || days == nil {
		return out
	}
	at := expiry.AddDate(0, 0, -int(*days))
	if !made.Before(at) {
		// It was made within these days already, and its replacement would
		// be, too: servers would be replaced for ever.
		at = expiry
	}
	return append(out, due{at, fmt.Sprintf("certificates expire at %s, replaced %d days before", expiry.UTC().Format(time.RFC3339), *days)})
}

// restartedAt is the time of the annotation, zero without one that can be read.
func restartedAt(cp *controlplanev1.RKE2ControlPlane) time.Time {
	at, err := time.Parse(time.RFC3339, cp.Annotations[controlplanev1.RestartedAtAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// CertificatesExpiry is when the certificates of a Machine's server expire, as
// it stands on record: on the Machine, where a user may set it, or else on its
// RKE2Config, which may be nil. The second result is false without a record
// that can be read.
func CertificatesExpiry(m *clusterv1.Machine, config *bootstrapv1.RKE2Config) (time.Time, bool) {
	records := []string{m.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation]}
	if config != nil {
		records = append(records, config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation])
	}
	for _, text := range records {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// OutdatedAt is the first moment after now from which on a Machine differs from
// what is wanted with nothing but time passing. It is zero when there is none.
func OutdatedAt(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine, config *bootstrapv1.RKE2Config, now time.Time) time.Time {
	var first time.Time
	for _, d := range dues(cp, m, config) {
		if d.at.After(now) && (first.IsZero() || d.at.Before(first)) {
			first = d.at
		}
	}
	return first
}
