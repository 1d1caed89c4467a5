package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
)

// countWorkers counts what has to go before the control plane. It matters
// only for a deletion, and is then read past the cache.
func (o *Observer) countWorkers(ctx context.Context, s *scope.Scope, snap *model.Snapshot) error {
	if !snap.ControlPlane.Deleting && !snap.Cluster.Deleting {
		return nil
	}
	here := []client.ListOption{client.InNamespace(s.Cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: s.Cluster.Name}}
	machines := &clusterv1.MachineList{}
	if err := o.Live.List(ctx, machines, here...); err != nil {
		return fmt.Errorf("list Machines of cluster %s: %w", s.ClusterKey(), err)
	}
	for _, m := range machines.Items {
		if _, ok := m.Labels[clusterv1.MachineControlPlaneLabel]; !ok {
			snap.Cluster.Workers++
		}
	}
	pools := &clusterv1.MachinePoolList{}
	if err := o.Live.List(ctx, pools, here...); err != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("list MachinePools of cluster %s: %w", s.ClusterKey(), err)
	}
	snap.Cluster.Workers += len(pools.Items)
	return nil
}

// needed are the Secrets a server can't be made without, with their keys.
func needed(s *scope.Scope) map[secret.Purpose][]string {
	pair := []string{secret.TLSCrtDataName, secret.TLSKeyDataName}
	out := map[secret.Purpose][]string{
		secret.ClusterCA:  pair,
		"cca":             pair,
		"token":           {"value"},
		secret.Kubeconfig: {secret.KubeconfigDataName},
	}
	if _, legacy := s.ControlPlane.Annotations[controlplanev1.LegacyAnnotation]; !legacy {
		out[secret.EtcdCA] = pair
		out["peer-etcd"] = pair
	}
	return out
}

// certificates looks whether the Secrets are there and hold their keys. Their
// content is not judged here.
func (o *Observer) certificates(ctx context.Context, s *scope.Scope, c *model.Cluster) {
	var missing []string
	for purpose, keys := range needed(s) {
		key := client.ObjectKey{Namespace: s.Cluster.Namespace, Name: secret.Name(s.Cluster.Name, purpose)}
		found := &corev1.Secret{}
		err := o.Client.Get(ctx, key, found)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, fmt.Sprintf("Secret %s does not exist", key))
			continue
		case err != nil:
			c.Certificates = model.Unknown[bool](fmt.Sprintf("read Secret %s: %v", key, err), o.Now())
			return
		}
		for _, k := range keys {
			if len(found.Data[k]) == 0 {
				missing = append(missing, fmt.Sprintf("Secret %s has no key %s", key, k))
			}
		}
	}
	slices.Sort(missing)
	c.Certificates = model.Known(len(missing) == 0, o.Now())
	c.CertificateProblem = strings.Join(missing, "; ")
}

// mayCreate tells whether a joining server may be made soon. Only then is the
// registration address of interest.
func mayCreate(snap model.Snapshot) bool {
	if !snap.ControlPlane.Initialized || snap.ControlPlane.Deleting || snap.Cluster.Deleting {
		return false
	}
	for _, m := range snap.Machines {
		if m.Deleting || !m.UpToDate() {
			return true
		}
	}
	return len(snap.Machines) < snap.ControlPlane.Replicas
}

// registrationTimeout bounds the look at the registration address.
const registrationTimeout = 2 * time.Second

func (o *Observer) registration(ctx context.Context, s *scope.Scope, c *model.Cluster) {
	addresses := s.RegistrationAddresses()
	if len(addresses) == 0 {
		c.Registration = model.Unknown[bool]("no address that servers could register at is known yet", o.Now())
		return
	}
	c.RegistrationAddress = addresses[0]
	uid := string(s.Cluster.UID)
	if at, ok := o.memory.registeredRecently(uid, addresses[0], o.Now()); ok {
		c.Registration = model.Known(true, at)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, registrationTimeout)
	defer cancel()
	conn, err := o.Dial(ctx, "tcp", addresses[0])
	at := o.Now()
	switch {
	case err == nil:
		_ = conn.Close()
		o.memory.rememberRegistered(uid, addresses[0], at)
		c.Registration = model.Known(true, at)
	case errors.Is(err, syscall.ECONNREFUSED):
		c.Registration = model.Known(false, at)
	default:
		c.Registration = model.Unknown[bool](fmt.Sprintf("connect to %s: %v", addresses[0], err), at)
	}
}
