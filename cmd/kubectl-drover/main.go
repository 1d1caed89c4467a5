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

// Errors that end the program with an exit code of their own: it worked, and
// what it found has been printed.
var (
	errViolation  = errors.New("an invariant is broken")
	errInProgress = errors.New("not settled yet")
	errHeldUp     = errors.New("held up until somebody does something")
)

// Exit codes.
const (
	exitFailure    = 1
	exitViolation  = 2
	exitInProgress = 3
	exitHeldUp     = 4
)

// exitCodes says what the codes of the commands about a cluster mean.
const exitCodes = `Exit codes: 0 everything is as wished, 1 failure, 3 in progress, 4 held up until somebody does something.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil && code(err) == exitFailure {
		fmt.Fprintln(os.Stderr, "Error:", err)
	}
	os.Exit(code(err))
}

// code is the exit code for the outcome of a command.
func code(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errViolation):
		return exitViolation
	case errors.Is(err, errInProgress):
		return exitInProgress
	case errors.Is(err, errHeldUp):
		return exitHeldUp
	default:
		return exitFailure
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
	c.AddCommand(explainCommand(), planCommand(), membersCommand(), simulate(), replay())
	return c
}
