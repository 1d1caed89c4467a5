package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// UnitStatus describes a unit.
type UnitStatus struct {
	Name    string    `json:"name"`
	State   UnitState `json:"state"`
	MainPID int       `json:"mainPID,omitempty"`
}

// ExecRequest asks for one command to be run in the machine.
type ExecRequest struct {
	Argv  []string `json:"argv"`
	Stdin []byte   `json:"stdin,omitempty"`
}

// ExecResult is what a command left behind. Code is its exit code, 127 when it
// could not be started and 128 plus the signal's number when a signal ended it.
type ExecResult struct {
	Stdout []byte `json:"stdout"`
	Stderr []byte `json:"stderr"`
	Code   int    `json:"code"`
}

// noBlock is the query parameter that asks for a job without waiting for its end.
const noBlock = "no-block"

func newHandler(m *manager) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /units/{name}", func(w http.ResponseWriter, r *http.Request) {
		s, err := m.find(r.PathValue("name"))
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		reply(w, s.Status())
	})
	mux.HandleFunc("POST /units/{name}/{verb}", func(w http.ResponseWriter, r *http.Request) {
		s, err := m.find(r.PathValue("name"))
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		verb := r.PathValue("verb")
		if r.URL.Query().Has(noBlock) {
			go func() { _ = m.act(context.WithoutCancel(r.Context()), s, verb) }() // its end shows in the unit's state and log
			reply(w, s.Status())
			return
		}
		if err := m.act(r.Context(), s, verb); err != nil {
			http.Error(w, err.Error(), statusOf(err))
			return
		}
		reply(w, s.Status())
	})
	mux.HandleFunc("POST /exec", func(w http.ResponseWriter, r *http.Request) {
		var request ExecRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || len(request.Argv) == 0 {
			http.Error(w, "the request needs an argv", http.StatusBadRequest)
			return
		}
		reply(w, execute(r.Context(), request))
	})
	return mux
}

func statusOf(err error) int {
	switch {
	case errors.Is(err, errNotFound):
		return http.StatusNotFound
	case errors.Is(err, errMasked):
		return http.StatusForbidden
	}
	return http.StatusConflict
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	// The other side is gone when this fails.
	_ = json.NewEncoder(w).Encode(body)
}

func execute(ctx context.Context, request ExecRequest) ExecResult {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, request.Argv[0], request.Argv[1:]...)
	cmd.Env = append(environment(), "HOME=/root")
	cmd.Dir = "/root"
	cmd.Stdin = bytes.NewReader(request.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A process group of its own: whoever gives up waiting ends all of it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	result := ExecResult{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		result.Code = exitCode(exit)
	case errors.Is(err, exec.ErrWaitDelay):
		// It ended well, but left a child behind that holds its output.
	case err != nil:
		result.Code = 127
		result.Stderr = append(result.Stderr, (err.Error() + "\n")...)
	}
	return result
}

func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
