package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/drover-project/drover/lab/internal/balancer"
	"github.com/drover-project/drover/lab/internal/certmanager"
	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/kubenode"
	"github.com/drover-project/drover/lab/internal/machine"
	"github.com/drover-project/drover/lab/internal/management"
	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/sandbox"
)

const (
	// servicePort is the port of the Service kubernetes.
	servicePort = 443
	// nodeTimeout bounds the boot of one node.
	nodeTimeout = time.Minute
	// manager is the path of the program in the images of Cluster API providers.
	manager = "/manager"
)

// managerImages are the images that nodes can have: the lab's own program files
// under the names of their images.
var managerImages = map[string]string{
	"registry.k8s.io/cluster-api/cluster-api-controller": "capi-core",
	"ghcr.io/drover-project/drover":                      "drover",
}

// infrastructureKinds are the kinds without which the infrastructure provider cannot start.
var infrastructureKinds = []string{
	"clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io",
	"labclusters.infrastructure.cluster.x-k8s.io", "labmachines.infrastructure.cluster.x-k8s.io",
}

// startBare starts a management cluster with nodes that run pods, and with
// nothing of Cluster API on it: that is for a user to install. The
// infrastructure provider, whose controllers run in this process, starts as
// soon as its kinds and Cluster API's are there.
func (h *host) startBare(ctx context.Context) error {
	h.report.step("management cluster (etcd, kube-apiserver, scheduler, controllers)")
	plane, err := management.Start(ctx, management.Config{
		Folder: h.Folder, Site: h.lab.machines.Home(), Bin: h.bin, Pods: true, OnlyRoot: sandbox.InUserNamespace(),
	})
	if err != nil {
		return err
	}
	if sandbox.InUserNamespace() {
		if err := plane.RunPodsAsRoot(ctx); err != nil {
			return err
		}
	}
	h.report.step(fmt.Sprintf("nodes (kubelets): %d", h.Nodes))
	if err := h.serveAPIToPods(ctx); err != nil {
		return err
	}
	for i := range h.Nodes {
		if err := h.bootNode(ctx, plane, fmt.Sprintf("node-%d", i+1)); err != nil {
			return err
		}
	}
	if err := plane.AwaitNodes(ctx, h.Nodes); err != nil {
		return err
	}
	h.report.step("stand-in for cert-manager")
	if err := certmanager.Start(ctx, plane.REST(), h.log); err != nil {
		return err
	}
	go h.startInfrastructureLater(ctx, plane)
	h.lab.setReady()
	return nil
}

// serveAPIToPods makes the Service kubernetes answer at its cluster address,
// which is all that pods know of the API server.
func (h *host) serveAPIToPods(ctx context.Context) error {
	if err := h.lab.machines.AddAddress(management.ServiceAddress); err != nil {
		return err
	}
	b, err := balancer.New([]balancer.Service{{
		Listen: netip.AddrPortFrom(management.ServiceAddress, servicePort),
		Port:   management.Port,
		// There is one API server only; when it is away, nothing else helps.
		Check: func(context.Context, netip.AddrPort) error { return nil },
	}}, balancer.DefaultTiming)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, b.Close)
	b.SetBackends([]balancer.Backend{{Name: "kube-apiserver", IP: h.lab.machines.Home().Address()}})
	return nil
}

// bootNode boots a machine that becomes a Node of the management cluster.
func (h *host) bootNode(ctx context.Context, plane *management.Plane, name string) error {
	ctx, cancel := context.WithTimeout(ctx, nodeTimeout)
	defer cancel()
	kubeconfig, err := plane.NodeKubeconfig(name)
	if err != nil {
		return err
	}
	programs, images, err := h.imagesOfNodes()
	if err != nil {
		return err
	}
	userData, err := kubenode.UserData(kubenode.Identity{Kubeconfig: kubeconfig, ClientCA: plane.CA(), Images: images})
	if err != nil {
		return err
	}
	_, err = h.lab.machines.Boot(ctx, machine.Spec{
		Name: name, Role: machine.Worker, BootstrapData: userData, ProviderID: "lab:///management/" + name,
		LabBinary: filepath.Join(h.bin, "lab"), KubeBinary: filepath.Join(h.bin, "kube"), Programs: programs,
	})
	return err
}

// imagesOfNodes returns the program files that nodes get and the images made of
// them. A program that was not built is no image.
func (h *host) imagesOfNodes() (programs map[string]string, images cri.Catalog, err error) {
	programs, images = map[string]string{}, cri.Catalog{}
	for image, program := range managerImages {
		path := filepath.Join(h.bin, program)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, nil, fmt.Errorf("image %s: %w", image, err)
		}
		programs[program] = path
		images[image] = cri.Image{
			Files:      map[string]string{manager: filepath.Join(paths.ProgramDir, program)},
			Entrypoint: []string{manager},
		}
	}
	return programs, images, nil
}

// startInfrastructureLater starts the lab's infrastructure provider when it can work.
func (h *host) startInfrastructureLater(ctx context.Context, plane *management.Plane) {
	err := plane.AwaitKinds(ctx, infrastructureKinds...)
	if err == nil {
		h.log.Info("the kinds of the infrastructure provider are there: it starts")
		err = h.lab.cloud.StartProvider(ctx, plane.REST())
	}
	if err != nil && ctx.Err() == nil {
		h.log.Error(err, "the infrastructure provider does not start")
	}
}
