package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// Servers looks at the servers of workload clusters themselves.
type Servers interface {
	// APIServerExpiry is when the certificate of the API server on a node
	// expires. It is bounded by a deadline of its own.
	APIServerExpiry(ctx context.Context, s *scope.Scope, node string) (time.Time, error)
}

// How long until the next look at a server's certificate. RKE2 renews it only
// when it starts; but where it is about to make the server be replaced, a
// restart by hand should be noticed before.
const (
	expiryLife     = 24 * time.Hour
	expiryLifeNear = time.Hour
	expiryNear     = 48 * time.Hour
	// expiryRetry is when to look again at a server that could not be asked,
	// expiryRetryNew at one that has not been asked yet: it may be starting.
	expiryRetry    = 10 * time.Minute
	expiryRetryNew = time.Minute
)

// certificates records on each server's RKE2Config when its certificates
// expire, from where core brings it to the Machine's status. A server that can't
// be asked is no failure: it is asked again later.
func (u *Upkeep) certificates(ctx context.Context, s *scope.Scope) error {
	if u.Servers == nil {
		return nil
	}
	now := u.Now()
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for _, m := range s.Machines {
		if !m.DeletionTimestamp.IsZero() || !m.Status.NodeRef.IsDefined() || !u.expiries.due(m.UID, now) {
			continue
		}
		wg.Go(func() {
			expiry, err := u.Servers.APIServerExpiry(ctx, s, m.Status.NodeRef.Name)
			if errors.Is(err, workload.ErrNotConnected) {
				return
			}
			if err != nil {
				ctrl.LoggerFrom(ctx).V(1).Info("The end of a server's certificate is not known", "Machine", m.Name, "why", err.Error())
				retry := expiryRetry
				if _, known := desired.CertificatesExpiry(m, s.Configs[m.Name]); !known {
					retry = expiryRetryNew
				}
				u.expiries.set(m.UID, now, now.Add(retry))
				return
			}
			if err := u.recordExpiry(ctx, s.Configs[m.Name], expiry); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("certificates of Machine %s: %w", m.Name, err))
				return
			}
			u.expiries.set(m.UID, now, now.Add(nextLook(s, expiry, now)))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// nextLook is how long a look counts.
func nextLook(s *scope.Scope, expiry, now time.Time) time.Duration {
	days := s.ControlPlane.Spec.Rollout.Before.CertificatesExpiryDays
	if days != nil && expiry.AddDate(0, 0, -int(*days)).Sub(now) < expiryNear {
		return expiryLifeNear
	}
	return expiryLife
}

// recordExpiry writes the annotation where it says something else. A user's own
// record is on the Machine, and is not touched.
func (u *Upkeep) recordExpiry(ctx context.Context, config *bootstrapv1.RKE2Config, expiry time.Time) error {
	value := expiry.UTC().Format(time.RFC3339)
	if config == nil || config.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] == value {
		return nil
	}
	updated := config.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	updated.Annotations[clusterv1.MachineCertificatesExpiryDateAnnotation] = value
	if err := u.Client.Patch(ctx, updated, client.MergeFrom(config)); err != nil {
		return fmt.Errorf("record when its certificates expire: %w", err)
	}
	return nil
}
