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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// roundLimit ends a round that hangs.
const roundLimit = 20 * time.Second

// startup is how a certificate is tried for before the manager gives up, about
// a minute.
var startup = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.7, Jitter: 0.2, Steps: 10}

// keeper keeps the Secret, the certificate in memory and the callers'
// authorities up to date. Every replica has one: what they do is the same, and
// only differences are written.
type keeper struct {
	client  client.Client
	watched metadata.Interface
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

// round does everything once, and says when it has to be done again if nothing
// happens until then.
func (k *keeper) round(ctx context.Context) (time.Time, error) {
	data, err := k.load(ctx)
	if err != nil {
		return time.Time{}, err
	}
	next, err := due(data)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the webhooks' certificate in Secret %s: %w", k.options.key(), err)
	}
	return next, k.inject(ctx, data[trustKey])
}

// load makes what the Secret has what is served, and returns it.
func (k *keeper) load(ctx context.Context) (map[string][]byte, error) {
	var data map[string][]byte
	err := unlessOutrun(func() (err error) {
		data, err = k.secret(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep the webhooks' certificate in Secret %s: %w", k.options.key(), err)
	}
	pair, err := tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("read the webhooks' certificate in Secret %s: %w; delete the Secret to have it issued again", k.options.key(), err)
	}
	k.serving.Store(&pair)
	return data, nil
}

// unlessOutrun reads and writes an object, and does so again when somebody else
// has written in between. It fails with the conflict only if that goes on.
func unlessOutrun(write func() error) error {
	return retry.OnError(retry.DefaultBackoff, func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	}, write)
}

// secret returns the content of the Secret after it was brought up to date.
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
