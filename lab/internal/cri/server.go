// Package cri is the container runtime of a lab machine: a server of the
// Kubernetes container runtime interface (CRI, v1) whose containers are plain
// processes of the machine. Every pod shares the machine's network, and resource
// limits have no effect.
//
// Without a Catalog every image "exists", and a container without a command
// sleeps until it is stopped; it has its own view of the file system only as far
// as its volumes are mounted in it, and is root. With a Catalog only its images
// exist; a container sees what its image and its volumes hold, and runs as the
// user that its pod names, unless the laboratory has no other users itself.
//
// The server is a process of its own, so that containers outlive a restart of
// the kubelet and of RKE2. What it knows is in memory: when it ends, so do its
// containers, even when it is killed.
package cri

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Applet is the name under which the lab's multi-call binary runs Main.
const Applet = "cri"

// stopGrace is how long containers may take to end when the server ends.
const stopGrace = 3 * time.Second

// Options say how to serve.
type Options struct {
	// Socket is the path of the unix socket to serve on.
	Socket string
	// NodeIP is the address of the machine, which all its pods share.
	NodeIP string
	// Images are the images that can be pulled; nil means any, with containers that see the whole machine.
	Images Catalog
	// Log receives a line for each start and end of a container.
	Log io.Writer
}

// Main serves until it gets SIGTERM or SIGINT and returns the exit code. Its
// arguments are --socket, --node-ip and, optionally, --log (a file to append to
// instead of writing to standard error).
func Main(args []string) int {
	if len(args) > 0 && args[0] == syncDelayCommand {
		return syncDelayMain(args[1:])
	}
	if len(args) > 0 && args[0] == shimCommand {
		return shimMain()
	}
	flags := flag.NewFlagSet(Applet, flag.ContinueOnError)
	options := Options{Log: os.Stderr}
	flags.StringVar(&options.Socket, "socket", "", "path of the unix socket to serve on")
	flags.StringVar(&options.NodeIP, "node-ip", "", "address of this machine, which all its pods share")
	path := flags.String("log", "", "file to append the log to")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *path != "" {
		file, err := os.OpenFile(*path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cri: open log:", err)
			return 1
		}
		defer func() { _ = file.Close() }()
		options.Log = file
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := Run(ctx, options); err != nil {
		_, _ = fmt.Fprintln(options.Log, "cri:", err)
		return 1
	}
	return 0
}

// Run answers on the socket until ctx ends, and then stops all containers. It
// fails when another runtime answers on the socket already.
func Run(ctx context.Context, options Options) error {
	if options.Socket == "" || net.ParseIP(options.NodeIP) == nil {
		return fmt.Errorf("a socket and the machine's address are needed, got %q and %q", options.Socket, options.NodeIP)
	}
	listener, err := listen(ctx, options.Socket)
	if err != nil {
		return err
	}
	service := newService(options, slog.New(slog.NewTextHandler(options.Log, nil)))
	if err := os.MkdirAll(service.rootDir, 0o755); err != nil {
		return errors.Join(fmt.Errorf("folder of root file systems: %w", err), listener.Close())
	}
	streams, err := newStreams(ctx, service)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	service.streams = streams
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	runtimeapi.RegisterRuntimeServiceServer(server, service)
	runtimeapi.RegisterImageServiceServer(server, newImages(options.Images))

	failed := make(chan error, 2)
	go func() { failed <- fmt.Errorf("streaming server: %w", streams.serve()) }()
	go func() { failed <- fmt.Errorf("serve on %s: %w", options.Socket, server.Serve(listener)) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	// No container is started from here on: Stop waits for the calls under way.
	server.Stop()
	service.stopAll(stopGrace)
	return errors.Join(err, streams.close())
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
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
