package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/drover-project/drover/lab/internal/paths"
)

// boot works off the user data and records how it went.
func boot(ctx context.Context, m *manager, status *os.File) {
	result := BootResult{State: BootSucceeded}
	if err := workOff(ctx, m); err != nil {
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

// workOff does what the user data say, in the order of a machine's first boot:
// Ignition runs before any service, cloud-init when they are up.
func workOff(ctx context.Context, m *manager) error {
	if isThere(paths.IgnitionFile) {
		if err := runUserData(ctx, ignitionApplet, paths.IgnitionFile); err != nil {
			return err
		}
		return m.startEnabled(ctx)
	}
	if isThere(paths.UserDataFile) {
		return runUserData(ctx, cloudInit, paths.UserDataFile)
	}
	return nil
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runUserData runs the program for user data as a process of its own, so that
// nothing it does can harm the service manager. Its last words are the message of
// a failure.
func runUserData(ctx context.Context, applet, file string) error {
	cmd := exec.CommandContext(ctx, paths.LabBinary, applet, file)
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
