// Command lab is the laboratory: real etcd, Kubernetes and Cluster API, and
// machines to run them on, on one Linux computer. The same program is, under
// other names, everything light that runs inside a lab and its machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() { os.Exit(run(os.Args)) }

func run(args []string) int {
	if applet, rest, ok := findApplet(args); ok {
		return applet(rest)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		var exit exitCode
		if errors.As(err, &exit) {
			return int(exit)
		}
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

// exitCode ends the program with a code and without a message.
type exitCode int

// Error implements error.
func (c exitCode) Error() string { return fmt.Sprintf("exit status %d", int(c)) }

// findApplet looks for a hidden command: by the name under which the program
// was called (a link named curl is curl), or else by the first argument.
func findApplet(args []string) (run func([]string) int, rest []string, found bool) {
	if len(args) == 0 {
		return nil, nil, false
	}
	if run, ok := applets[filepath.Base(args[0])]; ok {
		return run, args[1:], true
	}
	if len(args) > 1 {
		if run, ok := applets[args[1]]; ok {
			return run, args[2:], true
		}
	}
	return nil, nil, false
}
