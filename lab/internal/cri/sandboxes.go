package cri

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RunPodSandbox notes a pod. There is nothing to set up: whatever network the
// pod asks for, it gets the machine's.
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
func (s *service) StopPodSandbox(ctx context.Context, q *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	for _, c := range s.find(func(c *container) bool { return c.sandbox == q.GetPodSandboxId() }) {
		if err := c.stop(ctx, 0); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.sandboxes[q.GetPodSandboxId()]; old != nil {
		// A copy: the original may be on its way to a client.
		stopped := proto.CloneOf(old)
		stopped.State = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		s.sandboxes[old.Id] = stopped
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

// RemovePodSandbox forgets a pod and its containers. Removing what is gone is a success.
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

// sandbox returns a pod, or the error by which the kubelet knows that there is
// none. s.mu is held.
func (s *service) sandbox(id string) (*runtimeapi.PodSandboxStatus, error) {
	sandbox := s.sandboxes[id]
	if sandbox == nil {
		return nil, status.Errorf(codes.NotFound, "sandbox %s does not exist", id)
	}
	return sandbox, nil
}

// PodSandboxStatus fails with NotFound for a pod that was removed.
func (s *service) PodSandboxStatus(_ context.Context, q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sandbox, err := s.sandbox(q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.PodSandboxStatusResponse{Status: sandbox}, nil
}

// ListPodSandbox returns the pods that match all parts of the filter.
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
