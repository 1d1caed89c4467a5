package standin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/drover-project/drover/lab/internal/standin/member"
	"github.com/drover-project/drover/lab/internal/standin/pki"
	"github.com/drover-project/drover/lab/internal/standin/pods"
	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// server is `rke2 server`.
type server struct {
	*node
	pods  pods.Node
	etcd  *clientv3.Client
	kube  kubernetes.Interface
	ready atomic.Bool
}

// adminKubeconfig is where RKE2 puts the administrator's credentials.
const adminKubeconfig = "/etc/rancher/rke2/rke2.yaml"

// errLostLease ends the process, as RKE2 ends when it loses its lease.
var errLostLease = errors.New("leader election lost")

func (n *node) runServer(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s := &server{node: n}
	startsAgain := s.podDir().Has(pods.APIServer)
	joining, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	if err := s.startStorage(ctx, joining); err != nil {
		return err
	}
	if err := s.startSupervisor(ctx, stop); err != nil {
		return err
	}
	if err := s.startControlPlane(ctx, startsAgain); err != nil {
		return err
	}
	if !s.dataAreElsewhere() {
		go (&member.Promoter{Client: s.etcd, Log: n.log}).Run(ctx)
		go s.reportVoters(ctx)
		go s.watchOwnNode(ctx)
	}
	go s.runMemberController(ctx, stop)
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return fmt.Errorf("notify readiness: %w", err)
	}
	n.log.Info("rke2 is up and running", "node", n.name, "version", n.version)
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// prepare brings authorities and certificates in place. It gives the etcd
// members that the server joins, or nil if it starts a cluster or has data.
func (s *server) prepare(ctx context.Context) ([]supervisor.Member, error) {
	etcdDir := filepath.Join(s.data, "server", "db", "etcd")
	name, err := member.Name(etcdDir, s.name)
	if err != nil {
		return nil, fmt.Errorf("etcd member name: %w", err)
	}
	s.pods = pods.Node{
		Config: s.config, Version: s.version, IP: s.ip(), MemberName: name, TLS: s.tls, EtcdDir: etcdDir,
		ControllerKubeconfig: filepath.Join(s.data, "server", "cred", "controller.kubeconfig"),
		SchedulerKubeconfig:  filepath.Join(s.data, "server", "cred", "scheduler.kubeconfig"),
	}
	if s.dataAreElsewhere() {
		if err := s.shareAuthorities(ctx); err != nil {
			return nil, err
		}
		return nil, s.issueAll()
	}
	var members []supervisor.Member
	if url := s.config.String("server"); url != "" && !member.HasData(etcdDir) {
		if members, err = s.fetchBootstrap(ctx, url); err != nil {
			return nil, err
		}
	} else if err := s.tls.Ensure(); err != nil {
		return nil, err
	}
	return members, s.issueAll()
}

// fetchBootstrap asks a running server for the authorities until it answers.
func (s *server) fetchBootstrap(ctx context.Context, url string) ([]supervisor.Member, error) {
	var members []supervisor.Member
	err := until(ctx, 2*time.Second, func(ctx context.Context) (bool, error) {
		client, err := supervisor.Connect(ctx, url, s.token)
		if errors.Is(err, supervisor.ErrAuthority) {
			return false, err
		}
		if err != nil {
			s.log.Info("waiting for a server to register at", "server", url, "error", err)
			return false, nil
		}
		bootstrap, err := client.Bootstrap(ctx)
		if errors.Is(err, supervisor.ErrUnauthorized) {
			return false, fmt.Errorf("register at %s: %w", url, err)
		}
		if err != nil {
			s.log.Info("the server is not ready to register at", "server", url, "error", err)
			return false, nil
		}
		if err := s.takeOver(bootstrap); err != nil {
			return false, err
		}
		if members, err = client.Members(ctx); err != nil {
			s.log.Info("the server does not list its members", "server", url, "error", err)
			return false, nil
		}
		return true, nil
	})
	return members, err
}

func (s *server) takeOver(b supervisor.Bootstrap) error {
	own := s.config.Critical()
	for key, theirs := range b.Critical {
		if own[key] != theirs {
			return fmt.Errorf("critical configuration value mismatch between servers: %s is %q here and %q there", key, own[key], theirs)
		}
	}
	for name, pair := range b.Files {
		if err := s.tls.Write(name, pair); err != nil {
			return err
		}
	}
	return nil
}

// startStorage starts what the API server keeps its data in, and the kubelet.
func (s *server) startStorage(ctx context.Context, members []supervisor.Member) error {
	if s.dataAreElsewhere() {
		return s.startOwnKubelet(ctx)
	}
	return s.startEtcd(ctx, members)
}

// startEtcd starts the member and waits until it votes.
func (s *server) startEtcd(ctx context.Context, members []supervisor.Member) error {
	initial := ""
	if len(members) > 0 {
		var err error
		if initial, err = s.announce(ctx, members); err != nil {
			return err
		}
	}
	if !s.podDir().Has(pods.Etcd) {
		if err := s.podDir().Write(s.pods.EtcdPod(initial)); err != nil {
			return err
		}
	}
	if err := s.startOwnKubelet(ctx); err != nil {
		return err
	}
	var err error
	if s.etcd, err = member.Dial(s.tls, member.Local); err != nil {
		return err
	}
	return until(ctx, 300*time.Millisecond, func(ctx context.Context) (bool, error) {
		return member.Votes(ctx, s.etcd), nil
	})
}

// announce adds the server's member as a learner through those that are there.
func (s *server) announce(ctx context.Context, members []supervisor.Member) (string, error) {
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, m.ClientURLs...)
	}
	client, err := member.Dial(s.tls, endpoints...)
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }()
	var initial string
	err = until(ctx, time.Second, func(ctx context.Context) (bool, error) {
		list, err := member.AddLearner(ctx, client, s.pods.MemberName, s.pods.PeerURL())
		if errors.Is(err, member.ErrDuplicate) {
			return false, err
		}
		if err != nil {
			s.log.Info("waiting to be added to etcd", "error", err)
			return false, nil
		}
		others := map[string]string{}
		for _, m := range list {
			if m.Name != "" && len(m.PeerURLs) > 0 && m.PeerURLs[0] != s.pods.PeerURL() {
				others[m.Name] = m.PeerURLs[0]
			}
		}
		initial = pods.InitialCluster(others, s.pods.MemberName, s.pods.PeerURL())
		return true, nil
	})
	return initial, err
}

func (s *server) startSupervisor(ctx context.Context, stop context.CancelCauseFunc) error {
	serving, err := s.tls.Issue(pki.ServerCA, pki.Subject{Name: "rke2", Hosts: s.servingHosts()})
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("0.0.0.0:%d", supervisor.Port))
	if err != nil {
		return err
	}
	agentToken := s.config.String("agent-token")
	if t, err := supervisor.ParseToken(agentToken); err == nil {
		agentToken = t.Password
	}
	api := &supervisor.Server{Store: s.tls, Token: s.token, AgentToken: agentToken, Critical: s.config.Critical(), Backend: s}
	go func() {
		if err := api.Serve(ctx, listener, serving); err != nil {
			stop(err)
		}
	}()
	return nil
}

// startControlPlane starts the API server, and the others once it is ready.
func (s *server) startControlPlane(ctx context.Context, startsAgain bool) error {
	if err := s.podDir().Write(s.pods.APIServerPod()); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", adminKubeconfig)
	if err != nil {
		return err
	}
	config.Timeout = 10 * time.Second
	if s.kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	err = until(ctx, 500*time.Millisecond, func(ctx context.Context) (bool, error) {
		return s.kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
	if err != nil {
		return err
	}
	if !s.config.Bool("disable-controller-manager") {
		if err := s.podDir().Write(s.pods.ControllerManagerPod()); err != nil {
			return err
		}
	}
	if !s.config.Bool("disable-scheduler") {
		if err := s.podDir().Write(s.pods.SchedulerPod()); err != nil {
			return err
		}
	}
	s.ready.Store(true)
	return until(ctx, time.Second, func(ctx context.Context) (bool, error) {
		if err := s.ensureOwnPassword(ctx, startsAgain); err != nil {
			s.log.Info("waiting for the own node password", "error", err)
			return false, nil
		}
		if err := s.markNode(ctx); err != nil {
			s.log.Info("waiting for the own Node", "error", err)
			return false, nil
		}
		return true, nil
	})
}

func (s *server) servingHosts() []string {
	hosts := []string{"localhost", "127.0.0.1", s.name, s.ip(), "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + s.config.ClusterDomain()}
	for _, cidr := range strings.Split(s.config.ServiceCIDR(), ",") {
		if ip, network, err := net.ParseCIDR(cidr); err == nil {
			first := ip.Mask(network.Mask)
			first[len(first)-1]++
			hosts = append(hosts, first.String())
		}
	}
	return append(hosts, s.config.List("tls-san")...)
}
