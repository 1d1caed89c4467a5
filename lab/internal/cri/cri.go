// Package cri is the container runtime of a lab machine: a server of the
// Kubernetes container runtime interface (CRI, v1) whose containers are plain
// processes of the machine. Every pod shares the machine's network and file
// system, every image "exists", and a container without a command sleeps until
// it is stopped. Mounts, users and resource limits of a container have no effect.
//
// The server is a process of its own, so that containers outlive a restart of
// the kubelet and of RKE2. When the server itself dies, the kernel kills its
// containers.
package cri

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Applet is the name under which the lab's multi-call binary runs Main.
const Applet = "cri"

// Main serves until it gets SIGTERM or SIGINT and returns the exit code. Its
// arguments are --socket (path of the unix socket) and --node-ip.
func Main(args []string) int {
	flags := flag.NewFlagSet(Applet, flag.ContinueOnError)
	socket := flags.String("socket", "", "path of the unix socket to serve on")
	nodeIP := flags.String("node-ip", "", "address of this machine, which all its pods share")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := serve(ctx, *socket, *nodeIP); err != nil {
		fmt.Fprintln(os.Stderr, "cri:", err)
		return 1
	}
	return 0
}

// serve answers on the socket until ctx is done, and then kills all containers.
func serve(ctx context.Context, socket, nodeIP string) error {
	if socket == "" || net.ParseIP(nodeIP) == nil {
		return errors.New("--socket and --node-ip are needed")
	}
	listener, err := listen(ctx, socket)
	if err != nil {
		return err
	}
	service := newService(nodeIP)
	streams, err := newStreams(ctx, service)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	service.streams = streams
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, service)
	runtimeapi.RegisterImageServiceServer(server, newImages())

	failed := make(chan error, 2)
	go func() { failed <- fmt.Errorf("streaming server: %w", streams.Start(true)) }()
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	server.Stop()
	service.killAll()
	return errors.Join(err, streams.Stop())
}

// listen takes over the socket's path, unless somebody answers there.
func listen(ctx context.Context, socket string) (net.Listener, error) {
	if Answers(ctx, socket) {
		return nil, fmt.Errorf("another runtime serves on %s", socket)
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, fmt.Errorf("folder of the socket: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("old socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// Answers tells whether a server accepts connections on the socket.
func Answers(ctx context.Context, socket string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
