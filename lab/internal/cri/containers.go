package cri

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/drover-project/drover/lab/internal/sandbox"
)

// sleeper is what a container without a command runs: it waits, and ends well
// when it is told to.
var sleeper = []string{"/bin/sh", "-c", `trap 'exit 0' TERM; while :; do sleep infinity & wait $!; done`}

// container is one container from its creation to its removal.
type container struct {
	id      string
	sandbox string
	config  *runtimeapi.ContainerConfig
	image   *Image // nil for one that sees the whole machine
	rootDir string // where the root file system of an image is made
	logs    *logFile
	log     *slog.Logger
	created int64

	mu       sync.Mutex
	started  int64
	process  *process // nil until it was started
	startErr error    // why it could not be started
	failed   int64    // when it could not be started
}

// CreateContainer notes a container; its image's name is all there is to an image.
func (s *service) CreateContainer(_ context.Context, q *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sandbox, err := s.sandbox(q.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	id, config := newID(), q.GetConfig()
	image, err := s.catalog.find(config.GetImage().GetImage())
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	c := &container{
		id:      id,
		sandbox: sandbox.GetId(),
		config:  config,
		image:   image,
		rootDir: s.rootDir,
		created: now(),
		logs:    &logFile{path: filepath.Join(q.GetSandboxConfig().GetLogDirectory(), config.GetLogPath())},
		log: s.log.With("pod", sandbox.GetMetadata().GetNamespace()+"/"+sandbox.GetMetadata().GetName(),
			"container", config.GetMetadata().GetName(), "attempt", config.GetMetadata().GetAttempt(), "id", id),
	}
	s.containers[id] = c
	return &runtimeapi.CreateContainerResponse{ContainerId: id}, nil
}

// StartContainer runs the container's command; a container starts once.
func (s *service) StartContainer(_ context.Context, q *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	c, err := s.get(q.GetContainerId())
	if err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return &runtimeapi.StartContainerResponse{}, nil
}

func (c *container) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started != 0 {
		return status.Errorf(codes.FailedPrecondition, "container %s was started before", c.id)
	}
	c.started = now()
	process, err := startProcess(c.launch(commandOf(c.config, c.image)), c.logs)
	if err != nil {
		c.failed, c.startErr = now(), err
		c.log.Error("not started", "err", err)
		return status.Errorf(codes.Unknown, "start container %s: %v", c.config.GetMetadata().GetName(), err)
	}
	c.process = process
	c.log.Info("started", "pid", process.pid)
	go func() {
		<-process.done
		c.log.Info("ended", "exitCode", process.exitCode)
	}()
	return nil
}

// launch describes a command in the container's surroundings. Nothing of the
// server's own environment leaks into it.
func (c *container) launch(argv []string) launch {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"}
	for _, e := range c.config.GetEnvs() {
		env = append(env, e.GetKey()+"="+string(e.GetValue()))
	}
	dir := c.config.GetWorkingDir()
	if dir == "" {
		dir = "/"
	}
	l := launch{Argv: argv, Env: env, Dir: dir, Mounts: mountsOf(c.config)}
	if c.image != nil {
		l.Mounts = append(c.image.mounts(), l.Mounts...)
		l.Root = &root{Dir: c.rootDir, ReadOnly: c.config.GetLinux().GetSecurityContext().GetReadonlyRootfs()}
	}
	if c.image != nil && !sandbox.InUserNamespace() {
		l.User = userOf(c.config)
	}
	return l
}

// running returns the container's process, or the error that an exec gets when
// there is none.
func (c *container) running() (*process, error) {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil || process.ended() {
		return nil, status.Errorf(codes.FailedPrecondition, "container %s is not running", c.id)
	}
	return process, nil
}

// stop ends the container's process: with SIGTERM and, after grace, SIGKILL.
// It returns when the process is gone. When ctx ends before, nothing more is
// sent to the process.
func (c *container) stop(ctx context.Context, grace time.Duration) error {
	c.mu.Lock()
	process := c.process
	c.mu.Unlock()
	if process == nil {
		return nil
	}
	return process.stop(ctx, grace)
}

// StopContainer stops a container within the request's grace. Stopping what is
// gone is a success.
func (s *service) StopContainer(ctx context.Context, q *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	c := s.lookup(q.GetContainerId())
	if c == nil {
		return &runtimeapi.StopContainerResponse{}, nil
	}
	if err := c.stop(ctx, time.Duration(q.GetTimeout())*time.Second); err != nil {
		return nil, err
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

// RemoveContainer forgets a container, killing it if need be. Removing what is
// gone is a success.
func (s *service) RemoveContainer(ctx context.Context, q *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	c := s.lookup(q.GetContainerId())
	if c == nil {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	if err := c.stop(ctx, 0); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.containers, c.id)
	return &runtimeapi.RemoveContainerResponse{}, nil
}

// ListContainers returns the containers that match all parts of the filter.
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

// ContainerStatus fails with NotFound for a container that was removed.
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
	if err := c.logs.reopen(); err != nil {
		return nil, err
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}

// status describes the container in containerd's words.
func (c *container) status() *runtimeapi.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	image := c.config.GetImage().GetImage()
	result := &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.config.GetMetadata(), CreatedAt: c.created, StartedAt: c.started,
		Image: &runtimeapi.ImageSpec{Image: image}, ImageRef: image, ImageId: image,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
		Mounts: c.config.GetMounts(), LogPath: c.logs.path,
	}
	switch {
	case c.started == 0:
		result.State = runtimeapi.ContainerState_CONTAINER_CREATED
	case c.startErr != nil:
		result.State, result.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, c.failed
		result.ExitCode, result.Reason, result.Message = 128, "StartError", c.startErr.Error()
	case !c.process.ended():
		result.State = runtimeapi.ContainerState_CONTAINER_RUNNING
	default:
		result.State, result.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, c.process.finished
		result.ExitCode, result.Reason = c.process.exitCode, "Completed"
		if result.ExitCode != 0 {
			result.Reason = "Error"
		}
	}
	return result
}
