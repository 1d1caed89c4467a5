// Package management runs a lab's management clusters: etcd, an API server, the
// garbage collector, and the providers' processes. It must run inside a sandbox.
package management

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/drover-project/drover/lab/internal/kubeprogram"
	"github.com/drover-project/drover/lab/internal/provider"
	"github.com/drover-project/drover/lab/internal/runfolder"
)

const (
	// Port is the port of a management cluster's API server.
	Port = 6443

	etcdURL = "http://127.0.0.1:2379"
	// etcdStatePort is where etcd tells whether it is ready, also to those outside of its site.
	etcdStatePort = 2381
	// stepTimeout bounds each step of the start; on an idle computer one takes a few seconds.
	stepTimeout = 3 * time.Minute
)

// Config says what a management cluster consists of.
type Config struct {
	Folder runfolder.Folder
	// Name tells the management clusters of a lab apart; the first one has none.
	Name string
	// Site is where it runs: on the same ports as every other one, at another address.
	Site Site
	// Bin is the folder of the lab's binaries.
	Bin string
	// Providers are what runs on the cluster, Cluster API's core first.
	Providers []*provider.Provider
	// Pods says that the cluster gets nodes and runs pods: it then has a
	// scheduler, and every controller of Kubernetes.
	Pods bool
	// OnlyRoot says that the laboratory has no other users: every pod runs as
	// root, so the API server does not hold pods against a security standard.
	OnlyRoot bool
}

// Site is a place with an address, and with nobody else on its ports and on its 127.0.0.1.
type Site interface {
	Address() netip.Addr
	// Start starts a command there.
	Start(cmd *exec.Cmd) error
}

// Plane is a running management cluster.
type Plane struct {
	config    Config
	place     runfolder.Plane
	authority *authority
	admin     pair
	rest      *rest.Config
}

// Start starts etcd and the API server and returns once the API answers. All
// processes end with ctx.
func Start(ctx context.Context, config Config) (*Plane, error) {
	p := &Plane{config: config, place: config.Folder.Plane(config.Name)}
	if err := p.writeFiles(); err != nil {
		return nil, err
	}
	stepCtx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	etcd, server := p.etcd(), p.apiServer()
	go etcd.keep(ctx)
	if err := etcd.waitReady(stepCtx, httpOK(p.etcdState()+"/readyz")); err != nil {
		return nil, err
	}
	go server.keep(ctx)
	if err := server.waitReady(stepCtx, p.apiReady()); err != nil {
		return nil, err
	}
	for _, program := range p.controllers() {
		go program.keep(ctx)
	}
	return p, nil
}

// REST returns an administrator's access to the cluster.
func (p *Plane) REST() *rest.Config { return rest.CopyConfig(p.rest) }

// address is where the management cluster and its webhooks are reached.
func (p *Plane) address() string { return p.config.Site.Address().String() }

func (p *Plane) etcdState() string { return fmt.Sprintf("http://%s:%d", p.address(), etcdStatePort) }

func (p *Plane) dir(name string) string { return filepath.Join(p.place.Data(), name) }

func (p *Plane) writeFiles() (err error) {
	if p.authority, err = newAuthority(); err != nil {
		return err
	}
	if p.admin, err = p.authority.issue(pkix.Name{CommonName: "lab-admin", Organization: []string{"system:masters"}}); err != nil {
		return err
	}
	serving, err := p.servingPair("kube-apiserver")
	if err != nil {
		return err
	}
	if err := serving.write(p.dir("kube-apiserver")); err != nil {
		return err
	}
	if err := os.WriteFile(p.caFile(), p.authority.pem(), 0o600); err != nil {
		return fmt.Errorf("write CA certificate: %w", err)
	}
	if err := p.writeKubeletClient(); err != nil {
		return err
	}
	return p.writeKubeconfig()
}

func (p *Plane) caFile() string { return p.dir("ca.crt") }

func (p *Plane) servingPair(name string) (pair, error) {
	return p.authority.issue(pkix.Name{CommonName: name}, net.IP(p.config.Site.Address().AsSlice()), net.IPv4(127, 0, 0, 1), net.IP(ServiceAddress.AsSlice()))
}

func (p *Plane) writeKubeconfig() error {
	data, err := p.kubeconfig(p.admin)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.place.Kubeconfig(), data, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	if p.rest, err = clientcmd.RESTConfigFromKubeConfig(data); err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	// The lab's own controllers shall not be slowed down by client-side limits.
	p.rest.QPS, p.rest.Burst = 200, 400
	return nil
}

func (p *Plane) kube(name string, args ...string) *program {
	argv := append([]string{filepath.Join(p.config.Bin, "kube"), name}, args...)
	return p.newProgram(name, []string{"GOGC=" + kubeprogram.GarbageCollection}, argv...)
}

// newProgram returns a program that runs at the site of the management cluster.
func (p *Plane) newProgram(name string, env []string, argv ...string) *program {
	made := newProgram(name, p.place.Log(name), env, argv...)
	made.start = p.config.Site.Start
	return made
}

func (p *Plane) etcd() *program {
	return p.kube("etcd",
		"--name=management", "--data-dir="+p.dir("etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=management=http://127.0.0.1:2380", "--listen-metrics-urls="+p.etcdState(),
		// The data are gone with the lab, so nothing has to outlive a power failure.
		"--unsafe-no-fsync", "--log-level=warn")
}

func (p *Plane) apiServer() *program {
	certs := p.dir("kube-apiserver")
	cert, key := filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key")
	return p.kube("kube-apiserver", append(p.apiServerFlags(),
		"--etcd-servers="+etcdURL,
		// Only there: load balancers have the same port on other addresses.
		"--advertise-address="+p.address(), "--bind-address="+p.address(), fmt.Sprintf("--secure-port=%d", Port),
		"--tls-cert-file="+cert, "--tls-private-key-file="+key, "--client-ca-file="+p.caFile(),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer=https://lab.invalid", "--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--profiling=false")...)
}

func (p *Plane) apiReady() func(context.Context) error {
	client, err := rest.HTTPClientFor(p.rest)
	if err != nil {
		return func(context.Context) error { return err }
	}
	return getOK(client, p.rest.Host+"/readyz")
}
