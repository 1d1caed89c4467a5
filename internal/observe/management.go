package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
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

// certificates looks whether the Secrets are there that no server can be made
// without. What is wrong with one is a fact; a failed read is not known.
func (o *Observer) certificates(ctx context.Context, s *scope.Scope, c *model.Cluster) {
	var problems []string
	for _, err := range o.secretErrors(ctx, s) {
		var content *secrets.ContentError
		if !errors.As(err, &content) {
			c.Certificates = model.Unknown[bool](err.Error(), o.Now())
			return
		}
		problems = append(problems, content.Error())
	}
	c.Certificates = model.Known(len(problems) == 0, o.Now())
	c.CertificateProblem = strings.Join(problems, "; ")
}

func (o *Observer) secretErrors(ctx context.Context, s *scope.Scope) []error {
	var out []error
	add := func(err error) {
		if err != nil {
			out = append(out, err)
		}
	}
	for _, purpose := range s.Authorities() {
		_, err := secrets.LookupCA(ctx, o.Client, s.ClusterKey(), purpose)
		add(err)
	}
	_, err := secrets.LookupToken(ctx, o.Client, s.ClusterKey())
	add(err)
	if !desired.TakenOver(s.ControlPlane) {
		_, err = secrets.LookupAgentToken(ctx, o.Client, s.ClusterKey())
		add(err)
	}
	// Once a server has come up, trouble with the kubeconfig is no reason not to
	// make another one: no server is made from it. Upkeep tells of it.
	if !s.InitializedOnRecord() {
		add(o.kubeconfigError(ctx, s))
	}
	return out
}

func (o *Observer) kubeconfigError(ctx context.Context, s *scope.Scope) error {
	key := client.ObjectKey{Namespace: s.Cluster.Namespace, Name: secrets.Names(s.Cluster.Name).Kubeconfig}
	found := &corev1.Secret{}
	err := o.Client.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		return &secrets.ContentError{Secret: key, NotFound: true, Problem: "it does not exist"}
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", key, err)
	case len(found.Data[secrets.ValueKey]) == 0:
		return &secrets.ContentError{Secret: key, Problem: "key " + secrets.ValueKey + " is missing; delete the Secret, it is made anew"}
	default:
		return nil
	}
}

// mayCreate tells whether a joining server may be made soon. Only then is the
// registration address of interest. Without any server nobody can answer there,
// and a refusal would keep the next one from being made for ever.
func mayCreate(snap model.Snapshot) bool {
	if !snap.ControlPlane.Initialized || snap.ControlPlane.Deleting || snap.Cluster.Deleting || len(snap.Machines) == 0 {
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
