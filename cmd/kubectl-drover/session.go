package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/observe"
	"github.com/drover-project/drover/internal/world/connect"
	"github.com/drover-project/drover/internal/world/etcd"
	"github.com/drover-project/drover/internal/world/outside"
	"github.com/drover-project/drover/internal/world/permission"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/workload"
)

// userAgent names us to the API servers.
const userAgent = "kubectl-drover"

// lookTimeout bounds one look at everything. Each call has a deadline of its
// own.
const lookTimeout = time.Minute

// access is how the management cluster is reached, by the rules of kubectl.
type access struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// add adds the flags that choose a kubeconfig and what in it is used.
func (a *access) add(flags *pflag.FlagSet) {
	a.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&a.rules.ExplicitPath, "kubeconfig", "", "path to the kubeconfig of the management cluster")
	clientcmd.BindOverrideFlags(&a.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// session looks at one Cluster with the operator's own rights.
type session struct {
	client    client.Client
	observer  *observe.Observer
	connector *connect.Connector
	denied    *permission.Recorder
	key       client.ObjectKey
}

// open makes a session for a Cluster of the chosen namespace. Nothing is read
// yet.
func (a *access) open(cluster string) (*session, error) {
	// Libraries that log would disturb what is printed. Their errors come back.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	kubeconfig := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(a.rules, &a.overrides)
	config, err := kubeconfig.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err := kubeconfig.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return newSession(config, client.ObjectKey{Namespace: namespace, Name: cluster})
}

func newSession(config *rest.Config, key client.ObjectKey) (*session, error) {
	denied := &permission.Recorder{}
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	denied.Watch(permission.Management, config)
	c, err := outside.New(config)
	if err != nil {
		return nil, err
	}
	clusters := workload.Kubeconfigs{Secrets: c, UserAgent: userAgent, Adjust: func(w *rest.Config) { denied.Watch(permission.Workload, w) }}
	s := &session{client: c, denied: denied, key: key}
	s.connector = &connect.Connector{Secrets: c, Clusters: workload.New(clusters), Members: etcd.NewPool(time.Now)}
	s.observer = observe.New(observe.Options{Client: c, Live: c, Connector: s.connector, Dial: notFromHere})
	return s, nil
}

// notFromHere stands in for the network: whether servers reach the registration
// address does not show where an operator sits.
func notFromHere(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not looked at from here")
}

// load reads the Cluster, its control plane and what belongs to them.
func (s *session) load(ctx context.Context) (*scope.Scope, error) {
	cluster := &clusterv1.Cluster{}
	if err := s.client.Get(ctx, s.key, cluster); err != nil {
		return nil, fmt.Errorf("read Cluster %s: %w", s.key, err)
	}
	ref := cluster.Spec.ControlPlaneRef
	if ref.Kind != scope.ControlPlaneKind.Kind || ref.APIGroup != scope.ControlPlaneKind.Group {
		return nil, fmt.Errorf("the control plane of Cluster %s is %s %q, not an %s", s.key, ref.Kind, ref.Name, scope.ControlPlaneKind.Kind)
	}
	cp := &controlplanev1.RKE2ControlPlane{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: ref.Name}, cp); err != nil {
		return nil, fmt.Errorf("read RKE2ControlPlane %s/%s: %w", s.key.Namespace, ref.Name, err)
	}
	return scope.Load(ctx, s.client, s.client, cp)
}
