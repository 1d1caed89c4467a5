package cri

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
)

// service is the runtime half of the CRI.
type service struct {
	// Calls that are not needed here answer "unimplemented".
	runtimeapi.UnimplementedRuntimeServiceServer
	nodeIP  string
	streams streaming.Server

	mu         sync.Mutex
	sandboxes  map[string]*runtimeapi.PodSandboxStatus
	containers map[string]*container
}

func newService(nodeIP string) *service {
	return &service{
		nodeIP:     nodeIP,
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

func (s *service) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "lab", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1"}, nil
}

func (s *service) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.RuntimeReady, Status: true},
		{Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

func (s *service) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig is told the pods' address range, which pods here do not use.
func (s *service) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

func (s *service) RunPodSandbox(_ context.Context, q *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	namespaces := q.GetConfig().GetLinux().GetSecurityContext().GetNamespaceOptions()
	if namespaces == nil {
		namespaces = &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE}
	}
	sandbox := &runtimeapi.PodSandboxStatus{
		Id:          newID(),
		Metadata:    q.GetConfig().GetMetadata(),
		State:       runtimeapi.PodSandboxState_SANDBOX_READY,
		CreatedAt:   now(),
		Labels:      q.GetConfig().GetLabels(),
		Annotations: q.GetConfig().GetAnnotations(),
		Network:     &runtimeapi.PodSandboxNetworkStatus{Ip: s.nodeIP},
		Linux:       &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: namespaces}},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes[sandbox.Id] = sandbox
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandbox.Id}, nil
}

// StopPodSandbox kills what still runs in the sandbox: the kubelet has stopped
// the containers gracefully before.
func (s *service) StopPodSandbox(_ context.Context, q *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	for _, c := range s.find(func(c *container) bool { return c.sandbox == q.GetPodSandboxId() }) {
		c.stop(0)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.sandboxes[q.GetPodSandboxId()]; old != nil {
		stopped := cloneSandbox(old)
		stopped.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		s.sandboxes[old.Id] = stopped
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (s *service) RemovePodSandbox(ctx context.Context, q *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	if _, err := s.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: q.GetPodSandboxId()}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.containers {
		if c.sandbox == q.GetPodSandboxId() {
			delete(s.containers, id)
		}
	}
	delete(s.sandboxes, q.GetPodSandboxId())
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (s *service) PodSandboxStatus(_ context.Context, q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sandbox := s.sandboxes[q.GetPodSandboxId()]
	if sandbox == nil {
		return nil, status.Errorf(codes.NotFound, "sandbox %s does not exist", q.GetPodSandboxId())
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: sandbox}, nil
}

func (s *service) ListPodSandbox(_ context.Context, q *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	filter := q.GetFilter()
	s.mu.Lock()
	defer s.mu.Unlock()
	response := &runtimeapi.ListPodSandboxResponse{}
	for _, sandbox := range s.sandboxes {
		if filter.GetId() != "" && filter.GetId() != sandbox.Id ||
			filter.GetState() != nil && filter.GetState().GetState() != sandbox.State ||
			!hasLabels(sandbox.Labels, filter.GetLabelSelector()) {
			continue
		}
		response.Items = append(response.Items, &runtimeapi.PodSandbox{
			Id: sandbox.Id, Metadata: sandbox.Metadata, State: sandbox.State, CreatedAt: sandbox.CreatedAt,
			Labels: sandbox.Labels, Annotations: sandbox.Annotations,
		})
	}
	return response, nil
}

// cloneSandbox makes a copy to change: the original may be on its way to a client.
func cloneSandbox(s *runtimeapi.PodSandboxStatus) *runtimeapi.PodSandboxStatus {
	return &runtimeapi.PodSandboxStatus{
		Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt,
		Labels: s.Labels, Annotations: s.Annotations, Network: s.Network, Linux: s.Linux,
	}
}

func hasLabels(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}
