// Package control is the lab's remote control: HTTP over a unix socket in the
// run folder, the only way from outside into the lab's network.
//
//	POST /dial?addr=IP:PORT[&machine=NAME]   a raw TCP connection (101 Switching Protocols)
//	GET  /status                             Status
//	GET  /machines                           []Machine
//	POST /machines/NAME/{kill,freeze,thaw,cut,heal}
//	POST /machines/NAME/exec                 ExecRequest → ExecResult
//	GET  /balancers                          []Balancer
//	POST /balancers/NAMESPACE/NAME/{blackhole,heal}   the load balancer of a Cluster
//	POST /provider/start                     StartRequest; starts the provider under test, answers when it is ready
//	POST /provider/stop                      ends the provider under test
//	POST /managements/NAME                   starts one more management cluster, answers when it is ready
//	POST /down                               ends the lab
//
// Failures are answered with a 4xx or 5xx status and {"error": "…"}.
package control

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tunnel is the protocol name of /dial in the Upgrade header.
const tunnel = "lab-tcp"

// Status tells how the lab is doing.
type Status struct {
	// Ready is set once the management cluster and all providers have started.
	Ready bool `json:"ready"`
	// Provider is the name of the provider under test, "" for none.
	Provider  string    `json:"provider,omitempty"`
	StartedAt time.Time `json:"startedAt"`
}

// Machine is one machine of the lab.
type Machine struct {
	Name          string `json:"name"`
	Cluster       string `json:"cluster"`
	Role          string `json:"role"`
	IP            string `json:"ip"`
	ProviderID    string `json:"providerID,omitempty"`
	FailureDomain string `json:"failureDomain,omitempty"`
	// State is Starting, Running, Terminated or Failed.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Frozen bool   `json:"frozen,omitempty"`
	Cut    bool   `json:"cut,omitempty"`
	// UserData is Pending, Succeeded or Failed.
	UserData        string `json:"userData,omitempty"`
	UserDataMessage string `json:"userDataMessage,omitempty"`
}

// Balancer is one load balancer.
type Balancer struct {
	Cluster  string    `json:"cluster"`
	Address  string    `json:"address"`
	Backends []Backend `json:"backends"`
}

// Backend is one server behind one port of a load balancer.
type Backend struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	Healthy bool   `json:"healthy"`
	// Excluded backends get no new connections, because their Node is excluded from load balancers.
	Excluded bool `json:"excluded,omitempty"`
	// Open and Total count the connections that are open now, and all since the backend was added.
	Open  int   `json:"open"`
	Total int64 `json:"total"`
	// LastError says why the last health check failed.
	LastError string `json:"lastError,omitempty"`
}

// ExecRequest is a command to run inside a machine, as its root.
type ExecRequest struct {
	Argv  []string `json:"argv"`
	Stdin []byte   `json:"stdin,omitempty"`
}

// ExecResult is what a command printed, and its exit code (127 when it could not
// be started, 128 plus the signal's number when a signal ended it).
type ExecResult struct {
	Stdout   []byte `json:"stdout,omitempty"`
	Stderr   []byte `json:"stderr,omitempty"`
	ExitCode int    `json:"exitCode"`
}

// StartRequest says how the provider under test is started.
type StartRequest struct {
	// Program is the program file that takes the place of its first process's own; empty leaves that.
	Program string `json:"program,omitempty"`
	// Args come after the arguments that each of its processes has anyway.
	Args []string `json:"args,omitempty"`
}

// Fault is a disturbance of a machine, or the end of one.
type Fault string

// The faults of a machine. Thaw ends Freeze, and Heal ends Cut. Nothing ends Kill.
const (
	Kill   Fault = "kill"
	Freeze Fault = "freeze"
	Thaw   Fault = "thaw"
	Cut    Fault = "cut"
	Heal   Fault = "heal"
)

// Blackhole makes a load balancer take everything and pass nothing on; Heal ends it.
const Blackhole Fault = "blackhole"

// Faults lists all faults of a machine.
var Faults = []Fault{Kill, Freeze, Thaw, Cut, Heal}

// viaFolder calls f with a path of socket that is short enough for a socket
// address (108 bytes, unix(7)), however long the path of its folder is.
func viaFolder(socket string, f func(path string) error) error {
	folder, err := os.Open(filepath.Dir(socket))
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return f(filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), filepath.Base(socket)))
}

// Listen makes the socket at path, which only its owner may use.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	var listener net.Listener
	err := viaFolder(path, func(short string) (err error) {
		listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", short)
		if err != nil {
			return err
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		return nil, fmt.Errorf("make control socket %s: %w", path, err)
	}
	return listener, nil
}

func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var conn net.Conn
	err := viaFolder(path, func(short string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", short)
		return err
	})
	return conn, err
}
