package cri

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// service is the runtime half of the CRI.
type service struct {
	// Calls that are not needed here answer "unimplemented".
	runtimeapi.UnimplementedRuntimeServiceServer
	nodeIP  string
	catalog Catalog
	rootDir string // where containers with a root file system make it
	log     *slog.Logger
	streams *streams

	mu         sync.Mutex
	sandboxes  map[string]*runtimeapi.PodSandboxStatus
	containers map[string]*container
}

func newService(options Options, log *slog.Logger) *service {
	return &service{
		nodeIP:     options.NodeIP,
		catalog:    options.Images,
		rootDir:    filepath.Join(filepath.Dir(options.Socket), "rootfs"),
		log:        log,
		sandboxes:  map[string]*runtimeapi.PodSandboxStatus{},
		containers: map[string]*container{},
	}
}

func newID() string {
	// crypto/rand.Read does not fail.
	var id [16]byte
	_, _ = rand.Read(id[:])
	return hex.EncodeToString(id[:])
}

func now() int64 { return time.Now().UnixNano() }

// Version names the lab's runtime and the version of the CRI, as the kubelet asks first.
func (s *service) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "lab", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}

// Status is ready at all times: there is no network to wait for.
func (s *service) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// RuntimeConfig names a cgroup driver, without which the kubelet does not start.
func (s *service) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig is told the pods' address range, which pods here do not use.
func (s *service) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// UpdateContainerResources has nothing to update.
func (s *service) UpdateContainerResources(context.Context, *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// ListContainerStats measures nothing.
func (s *service) ListContainerStats(context.Context, *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{}, nil
}

// ListPodSandboxStats measures nothing.
func (s *service) ListPodSandboxStats(context.Context, *runtimeapi.ListPodSandboxStatsRequest) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{}, nil
}

// lookup returns a container, or nil when there is none.
func (s *service) lookup(id string) *container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.containers[id]
}

// get returns a container, or the error by which the kubelet knows that there is none.
func (s *service) get(id string) (*container, error) {
	if c := s.lookup(id); c != nil {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "container %s does not exist", id)
}

func (s *service) find(wanted func(*container) bool) []*container {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*container
	for _, c := range s.containers {
		if wanted(c) {
			found = append(found, c)
		}
	}
	return found
}

// stopAll ends every container, all at once.
func (s *service) stopAll(grace time.Duration) {
	var all sync.WaitGroup
	for _, c := range s.find(func(*container) bool { return true }) {
		all.Go(func() { _ = c.stop(context.Background(), grace) })
	}
	all.Wait()
}

func hasLabels(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}
