package certificates

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// roundEvery is how often everything is looked at again. A round reads a
	// handful of objects by name and mostly writes nothing.
	roundEvery = time.Minute
	// roundLimit ends a round that hangs.
	roundLimit = 20 * time.Second
)

// startup is how a certificate is tried for before the manager gives up, about
// a minute.
var startup = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.7, Jitter: 0.2, Steps: 10}

// again is how soon a round that failed is repeated.
var again = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: roundEvery}

// keeper keeps the Secret, the certificate in memory and the callers'
// authorities up to date. Every replica has one: what they do is the same, and
// only differences are written.
type keeper struct {
	client  client.Client
	options Options
	serving atomic.Pointer[tls.Certificate]
}

// certificate implements GetCertificate of tls.Config.
func (k *keeper) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := k.serving.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errors.New("the webhooks' certificate has not been issued yet")
}

// first gets a certificate to serve with. Two replicas that start at once may
// be in each other's way, so it is tried several times.
func (k *keeper) first(ctx context.Context) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, startup, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, roundLimit)
		defer cancel()
		_, last = k.load(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// run keeps everything until the context ends.
func (k *keeper) run(ctx context.Context) {
	backoff := again
	for {
		delay := roundEvery
		if err := k.round(ctx); err != nil && ctx.Err() == nil {
			delay = backoff.Step()
			ctrl.LoggerFrom(ctx).Error(err, "The webhooks' certificate could not be kept", "again", delay.Round(time.Second).String())
		} else {
			backoff = again
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// round does everything once.
func (k *keeper) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundLimit)
	defer cancel()
	trust, err := k.load(ctx)
	if err != nil {
		return err
	}
	return k.inject(ctx, trust)
}

// load makes what the Secret has what is served, and returns the authorities
// in PEM that callers have to trust.
func (k *keeper) load(ctx context.Context) ([]byte, error) {
	data, err := k.secret(ctx)
	if err != nil {
		return nil, fmt.Errorf("keep the webhooks' certificate in Secret %s: %w", k.options.key(), err)
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read the webhooks' certificate in Secret %s: %w; delete the Secret to have it issued again", k.options.key(), err)
	}
	k.serving.Store(&pair)
	return data[trustKey], nil
}

// secret returns the content of the Secret after it was brought up to date.
// Conflicts with other replicas are errors: the next try sees their result.
func (k *keeper) secret(ctx context.Context) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	err := k.client.Get(ctx, k.options.key(), secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return nil, err
	}
	before := secret.DeepCopy()
	data, changed, err := k.options.renew(secret.Data, k.options.now())
	if err != nil || !changed {
		return data, err
	}
	secret.Data = data
	if missing {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: k.options.Namespace, Name: k.options.Secret}
		secret.Type = corev1.SecretTypeTLS
		err = k.client.Create(ctx, secret)
	} else {
		err = k.client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).Info("Issued a certificate for the webhooks", "Secret", k.options.key().String())
	return data, nil
}
