package cri

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// sleeper is what a container without a command runs.
var sleeper = []string{"sleep", "infinity"}

// container is one container from its creation to its removal.
type container struct {
	id      string
	sandbox string
	config  *runtimeapi.ContainerConfig
	log     *logFile
	created int64

	mu       sync.Mutex
	started  int64
	finished int64
	process  *process // nil until it was started
	startErr error    // why it could not be started
}

// CreateContainer notes a container; its image's name is all there is to an image.
func (s *service) CreateContainer(_ context.Context, q *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandboxes[q.GetPodSandboxId()] == nil {
		return nil, status.Errorf(codes.NotFound, "sandbox %s does not exist", q.GetPodSandboxId())
	}
	c := &container{
		id:      newID(),
		sandbox: q.GetPodSandboxId(),
		config:  q.GetConfig(),
		created: now(),
		log:     &logFile{path: filepath.Join(q.GetSandboxConfig().GetLogDirectory(), q.GetConfig().GetLogPath())},
	}
	s.containers[c.id] = c
	return &runtimeapi.CreateContainerResponse{ContainerId: c.id}, nil
}

func (s *service) StartContainer(_ context.Context, q *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, fmt.Errorf("start container %s: %w", c.config.GetMetadata().GetName(), err)
	}
	return &runtimeapi.StartContainerResponse{}, nil
}

func (c *container) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started != 0 {
		return status.Error(codes.FailedPrecondition, "it was started before")
	}
	c.started = now()
	argv := append(append([]string{}, c.config.GetCommand()...), c.config.GetArgs()...)
	if len(argv) == 0 {
		argv = sleeper
	}
	process, err := startProcess(command{
		argv: argv,
		dir:  c.config.GetWorkingDir(),
		env:  c.environment(),
		log:  c.log,
	})
	if err != nil {
		c.finished, c.startErr = now(), err
		return err
	}
	c.process = process
	go func() {
		<-process.done
		c.mu.Lock()
		defer c.mu.Unlock()
		c.finished = now()
	}()
	return nil
}

// environment is the container's own; nothing of the machine's leaks in.
func (c *container) environment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	for _, e := range c.config.GetEnvs() {
		env = append(env, e.GetKey()+"="+string(e.GetValue()))
	}
	return env
}

// stop ends the container's process: with SIGTERM and, after grace, SIGKILL.
// It returns when the process is gone.
func (c *container) stop(grace time.Duration) {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process != nil {
		process.stop(grace)
	}
}

func (s *service) StopContainer(_ context.Context, q *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	if c, err := s.get(q.GetContainerId()); err == nil {
		c.stop(time.Duration(q.GetTimeout()) * time.Second)
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

func (s *service) RemoveContainer(_ context.Context, q *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return &runtimeapi.RemoveContainerResponse{}, nil //nolint:nilerr // removing what is gone is a success
	}
	c.stop(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.containers, c.id)
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (s *service) ListContainers(_ context.Context, q *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	filter := q.GetFilter()
	response := &runtimeapi.ListContainersResponse{}
	for _, c := range s.find(func(c *container) bool {
		return (filter.GetId() == "" || filter.GetId() == c.id) &&
			(filter.GetPodSandboxId() == "" || filter.GetPodSandboxId() == c.sandbox) &&
			hasLabels(c.config.GetLabels(), filter.GetLabelSelector())
	}) {
		state := c.status()
		if filter.GetState() != nil && filter.GetState().GetState() != state.State {
			continue
		}
		response.Containers = append(response.Containers, &runtimeapi.Container{
			Id: c.id, PodSandboxId: c.sandbox, Metadata: state.Metadata, Image: state.Image, ImageRef: state.ImageRef,
			ImageId: state.ImageId, State: state.State, CreatedAt: state.CreatedAt, Labels: state.Labels, Annotations: state.Annotations,
		})
	}
	return response, nil
}

func (s *service) ContainerStatus(_ context.Context, q *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	return &runtimeapi.ContainerStatusResponse{Status: c.status()}, nil
}

// ReopenContainerLog is called after the kubelet has moved a log away that grew too big.
func (s *service) ReopenContainerLog(_ context.Context, q *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	if err := c.log.open(); err != nil {
		return nil, err
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

func (c *container) status() *runtimeapi.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	image := c.config.GetImage().GetImage()
	result := &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.GetMetadata(), CreatedAt: c.created, StartedAt: c.started, FinishedAt: c.finished,
		Image: &runtimeapi.ImageSpec{Image: image}, ImageRef: image, ImageId: image,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), LogPath: c.log.path,
	}
	switch {
	case c.started == 0:
		result.State = runtimeapi.ContainerState_CONTAINER_CREATED
	case c.finished == 0:
		result.State = runtimeapi.ContainerState_CONTAINER_RUNNING
	default:
		result.State = runtimeapi.ContainerState_CONTAINER_EXITED
		result.ExitCode, result.Reason, result.Message = c.outcome()
	}
	return result
}

// outcome describes the end of a container in containerd's words. c.mu is held.
func (c *container) outcome() (code int32, reason, message string) {
	switch {
	case c.startErr != nil:
		return 128, "StartError", c.startErr.Error()
	case c.process.exitCode == 0:
		return 0, "Completed", ""
	default:
		return c.process.exitCode, "Error", ""
	}
}

func (s *service) get(id string) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.containers[id]
	if c == nil {
		return nil, status.Errorf(codes.NotFound, "container %s does not exist", id)
	}
	return c, nil
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

// killAll ends every container at once.
func (s *service) killAll() {
	var all sync.WaitGroup
	for _, c := range s.find(func(*container) bool { return true }) {
		all.Go(func() { c.stop(0) })
	}
	all.Wait()
}
