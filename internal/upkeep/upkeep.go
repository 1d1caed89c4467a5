// Package upkeep keeps in order what surrounds a control plane and is harmless
// to touch: certificate authorities, token and kubeconfig, owner references,
// labels, annotations and time limits.
//
// Nothing here takes part in the order of a rollout. Every step may be done at
// any time, in any order and again, and a step that fails stops no other: the
// result says what failed, and the caller goes on.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// Nodes gives read and write access to the objects of a workload cluster.
// Cluster API's ClusterCache is one.
type Nodes interface {
	// GetClient returns a client whose reads come from a cache. It fails
	// when there is no connection.
	GetClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
	// GetUncachedClient returns one whose reads go to the API server.
	GetUncachedClient(ctx context.Context, cluster client.ObjectKey) (client.Client, error)
}

// Upkeep carries out the steps. It is safe for concurrent use.
type Upkeep struct {
	// Client reads, possibly from a cache, and writes to the management
	// cluster. It must find Secrets without the cluster label, too.
	Client client.Client
	// Live reads past any cache. Secrets are made on its word only.
	Live client.Reader
	// Nodes reaches the workload cluster.
	Nodes Nodes
	// Servers looks at the servers themselves. Nil leaves that out.
	Servers Servers
	// CrossNamespaceReferences allows specs to name Secrets of other namespaces.
	CrossNamespaceReferences bool
	// Authorities asks the servers for the authorities of their etcd. Nil leaves
	// that out.
	Authorities Authorities
	// Now is the clock.
	Now func() time.Time

	// expiries are the looks at Machines' certificates, swept those at
	// clusters' node passwords, opened those at the authorities of an etcd that
	// can't be asked.
	expiries, swept, opened looks
}

// Problem is a step that failed. It is tried again with the next look.
type Problem struct {
	// Step is the name of the step.
	Step string
	// Err is what went wrong.
	Err error
}

// Error implements error.
func (p Problem) Error() string { return p.Step + ": " + p.Err.Error() }

// Unwrap gives the cause.
func (p Problem) Unwrap() error { return p.Err }

type step struct {
	name string
	// always steps are also done while the control plane is being deleted.
	always bool
	run    func(*Upkeep, context.Context, *scope.Scope) error
}

// steps are in the order in which they help each other on the first run: the
// kubeconfig is signed by the authorities.
func steps() []step {
	return []step{
		{name: "record that the cluster is initialized", run: (*Upkeep).recordInitialized},
		{name: "certificate authorities", run: (*Upkeep).authorities},
		{name: "tokens", run: (*Upkeep).tokens},
		{name: "authorities of an etcd that can't be asked", run: (*Upkeep).openEtcd},
		{name: "kubeconfig", run: (*Upkeep).kubeconfig},
		{name: "owners of Secrets", run: (*Upkeep).secretOwners},
		{name: "owner of the infrastructure template", run: (*Upkeep).templateOwner},
		{name: "record of a remediation", run: (*Upkeep).remediationServed},
		{name: "metadata of Machines", run: (*Upkeep).machines},
		{name: "time limits of deleted Machines", always: true, run: (*Upkeep).timeLimits},
		{name: "metadata of infrastructure machines", run: (*Upkeep).infrastructure},
		{name: "metadata of RKE2Configs", run: (*Upkeep).configs},
		{name: "annotations of Nodes", run: (*Upkeep).nodes},
		{name: "end of the servers' certificates", run: (*Upkeep).certificates},
		{name: "passwords of Nodes that are gone", run: (*Upkeep).passwords},
		{name: "settings of etcd snapshots", run: (*Upkeep).snapshots},
	}
}

// Run does every step and returns those that failed. A Secret that is missing
// or can't be used is no failed step: the Snapshot has it as a fact.
func (u *Upkeep) Run(ctx context.Context, s *scope.Scope) []Problem {
	deleting := !s.ControlPlane.DeletionTimestamp.IsZero() || !s.Cluster.DeletionTimestamp.IsZero()
	var problems []Problem
	for _, step := range steps() {
		if deleting && !step.always {
			continue
		}
		if err := onlyProblems(step.run(u, ctx, s)); err != nil {
			problems = append(problems, Problem{Step: step.name, Err: err})
		}
	}
	return problems
}

// onlyProblems drops what needs no telling: what is wrong with a Secret, since
// the Snapshot has it, and conflicts, since who changed the object is reported
// by a watch and leads to the next attempt.
func onlyProblems(err error) error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		var kept []error
		for _, e := range joined.Unwrap() {
			kept = append(kept, onlyProblems(e))
		}
		return errors.Join(kept...)
	}
	var content *secrets.ContentError
	if errors.As(err, &content) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// each runs a function for every name and joins the errors, each with its
// subject.
func each(names []string, what string, do func(name string) error) error {
	var errs []error
	for _, name := range names {
		if err := do(name); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", what, name, err))
		}
	}
	return errors.Join(errs...)
}
