// Command kubectl-drover is Drover's plugin for kubectl. Installed in the PATH
// it is called as `kubectl drover`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// errViolation ends the program with its own exit code: it worked, and found
// what nobody wants to find.
var errViolation = errors.New("an invariant is broken")

// Exit codes.
const (
	exitFailure   = 1
	exitViolation = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, errViolation):
		os.Exit(exitViolation)
	default:
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(exitFailure)
	}
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "kubectl-drover",
		Short:         "Look into what Drover does with RKE2 control planes",
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl drover"},
	}
	c.AddCommand(simulate(), replay())
	return c
}
