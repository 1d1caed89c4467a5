// Package userdata is what the programs have in common that work off a lab
// machine's user data: cloud-init and Ignition.
package userdata

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/drover-project/drover/lab/internal/paths"
)

// Work does what the user data say and writes to log what it does.
type Work func(ctx context.Context, data []byte, log io.Writer) error

// Main is the whole of a program that works off the user data file that args
// name, on the machine it runs on. Output goes to paths.CloudInitLog, an error
// also to standard error.
func Main(program string, args []string, work Work) int {
	if len(args) != 1 {
		fmt.Fprintf(os.Stderr, "usage: %s FILE\n", program)
		return 2
	}
	if err := run(context.Background(), program, args[0], work); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(ctx context.Context, program, path string, work Work) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read user data: %w", err)
	}
	log, err := os.OpenFile(paths.CloudInitLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()
	err = work(ctx, data, log)
	if err != nil {
		_, _ = fmt.Fprintf(log, "%s: %v\n", program, err)
	}
	return err
}
