package desired_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
)

const day = 24 * time.Hour

// Time alone makes a server outdated: what is due has a reason, and what is not
// yet has a moment.
func TestOutdatedByTime(t *testing.T) {
	after := func(at time.Time) func(*controlplanev1.RKE2ControlPlane, *desired.Server) {
		return func(cp *controlplanev1.RKE2ControlPlane, _ *desired.Server) {
			cp.Spec.Rollout.After = metav1.NewTime(at)
		}
	}
	restarted := func(text string) func(*controlplanev1.RKE2ControlPlane, *desired.Server) {
		return func(cp *controlplanev1.RKE2ControlPlane, _ *desired.Server) {
			cp.Annotations = map[string]string{controlplanev1.RestartedAtAnnotation: text}
		}
	}
	expires := func(days int32, onConfig, onMachine string) func(*controlplanev1.RKE2ControlPlane, *desired.Server) {
		return func(cp *controlplanev1.RKE2ControlPlane, s *desired.Server) {
			if days > 0 {
				cp.Spec.Rollout.Before.CertificatesExpiryDays = ptr.To(days)
			}
			s.Config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = onConfig
			s.Machine.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = onMachine
		}
	}
	for name, c := range map[string]struct {
		given func(*controlplanev1.RKE2ControlPlane, *desired.Server)
		want  []string
		at    time.Time
	}{
		"nothing is due":              {given: func(*controlplanev1.RKE2ControlPlane, *desired.Server) {}},
		"made before":                 {after(now.Add(-day)), []string{"made before 2026-03-08T09:00:00Z (rollout.after)"}, time.Time{}},
		"at this moment":              {after(now), []string{"made before 2026-03-09T09:00:00Z (rollout.after)"}, time.Time{}},
		"made later":                  {given: after(now.Add(-20 * day))},
		"not yet":                     {after(now.Add(day)), nil, now.Add(day)},
		"restarted":                   {restarted("2026-03-09T08:00:00Z"), []string{"made before 2026-03-09T08:00:00Z (annotation cluster.x-k8s.io/restartedAt)"}, time.Time{}},
		"restarted in a time zone":    {restarted("2026-03-09T10:00:00+02:00"), []string{"made before 2026-03-09T08:00:00Z (annotation cluster.x-k8s.io/restartedAt)"}, time.Time{}},
		"restarted at no time":        {given: restarted("now")},
		"certificates, in time":       {expires(30, "2026-05-01T00:00:00Z", ""), nil, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)},
		"certificates, due":           {expires(30, "2026-04-01T00:00:00Z", ""), []string{"certificates expire at 2026-04-01T00:00:00Z, replaced 30 days before"}, time.Time{}},
		"certificates, expired":       {expires(30, "2026-03-06T00:00:00Z", ""), []string{"certificates expire at 2026-03-06T00:00:00Z, replaced 30 days before"}, time.Time{}},
		"the Machine's record":        {expires(30, "2027-04-01T00:00:00Z", "2026-04-01T00:00:00Z"), []string{"certificates expire at 2026-04-01T00:00:00Z, replaced 30 days before"}, time.Time{}},
		"nobody asks":                 {given: expires(0, "2026-03-06T00:00:00Z", "")},
		"not readable":                {given: expires(30, "soon", "later")},
		"no younger by a replacement": {expires(60, "2026-04-01T00:00:00Z", ""), nil, time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cp, s := server(t)
			s.Machine.CreationTimestamp = metav1.NewTime(now.Add(-10 * day))
			c.given(cp, &s)
			g.Expect(desired.Outdated(cp, s.Machine, s.Config, s.Infrastructure, now)).To(Equal(c.want))
			g.Expect(desired.OutdatedAt(cp, s.Machine, s.Config, now)).To(Equal(c.at))
		})
	}
}

// Of several moments the first to come counts.
func TestFirstMoment(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	s.Machine.CreationTimestamp = metav1.NewTime(now.Add(-10 * day))
	cp.Spec.Rollout.After = metav1.NewTime(now.Add(3 * day))
	cp.Annotations = map[string]string{controlplanev1.RestartedAtAnnotation: now.Add(2 * day).Format(time.RFC3339)}
	g.Expect(desired.OutdatedAt(cp, s.Machine, nil, now)).To(Equal(now.Add(2 * day)))
	g.Expect(desired.OutdatedAt(cp, s.Machine, nil, now.Add(2*day))).To(Equal(now.Add(3 * day)))
	g.Expect(desired.OutdatedAt(cp, s.Machine, nil, now.Add(3*day))).To(BeZero())
}
