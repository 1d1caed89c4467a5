package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/paths"
)

// servicesStatusFD is where the service manager finds the pipe to the machine manager.
const servicesStatusFD = 3

// servicesMain is the machine's service manager. It serves until the machine
// ends; beside that it works off the user data, once.
func servicesMain([]string) int {
	syscall.CloseOnExec(servicesStatusFD)
	status := os.NewFile(servicesStatusFD, "status")
	if err := serve(context.Background(), status); err != nil {
		fmt.Fprintln(os.Stderr, "machine-services:", err)
		report(status, Report{Failure: err.Error()})
		return 1
	}
	return 0
}

func serve(ctx context.Context, status *os.File) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", paths.InitSocket)
	if err != nil {
		return fmt.Errorf("open %s: %w", paths.InitSocket, err)
	}
	server := &http.Server{Handler: newHandler(newUnits()), ReadHeaderTimeout: 10 * time.Second}
	report(status, Report{Ready: true})
	go boot(ctx, status)
	return server.Serve(listener)
}

// boot works off the user data and records how it went.
func boot(ctx context.Context, status *os.File) {
	result := BootResult{State: BootSucceeded}
	if err := runUserData(ctx); err != nil {
		result = BootResult{State: BootFailed, Message: err.Error()}
	}
	result.FinishedAt = time.Now()
	if err := recordBoot(result); err != nil {
		fmt.Fprintln(os.Stderr, "machine-services:", err)
	}
	report(status, Report{Boot: &result})
}

// messageLimit bounds how much of the last output becomes the result's message (bytes).
const messageLimit = 1024

// runUserData runs cloud-init as a process of its own, so that nothing it does
// can harm the service manager. Its last words are the message of a failure.
func runUserData(ctx context.Context) error {
	if _, err := os.Stat(paths.UserDataFile); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	cmd := exec.CommandContext(ctx, paths.LabBinary, cloudInit, paths.UserDataFile)
	cmd.Env = environment()
	cmd.Dir = "/"
	stderr := &tail{limit: messageLimit}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("user data: %w: %s", err, stderr)
	}
	return nil
}

func recordBoot(result BootResult) error {
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("boot result: %w", err)
	}
	return replaceFile(paths.BootResultFile, data)
}

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	data  []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if over := len(t.data) - t.limit; over > 0 {
		t.data = t.data[over:]
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string { return string(t.data) }
