package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Problem is something this computer lacks, and how to mend it.
type Problem struct {
	// What is missing, with the system's own error.
	What string `json:"what"`
	// Mend is one sentence that says what to do about it.
	Mend string `json:"mend"`
}

// String joins both sentences.
func (p Problem) String() string { return p.What + ". " + p.Mend }

// probeTimeout bounds the trial run of Check; it normally takes a fraction of a second.
const probeTimeout = 20 * time.Second

// Check tries out what a lab with its run folder dir needs from this computer,
// in a sandbox that is gone afterwards, and returns what does not work. The
// folder must exist.
func Check(dir string) []Problem {
	if problems := checkKernel(); len(problems) > 0 {
		return problems
	}
	self, err := os.Executable()
	if err != nil {
		return []Problem{{What: fmt.Sprintf("the lab cannot find its own program file: %v", err), Mend: "Start it by its path."}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, probeApplet, dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	namespaces(cmd.SysProcAttr)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return []Problem{namespaceProblem(err)}
	}
	if err := cmd.Wait(); err != nil {
		return []Problem{{
			What: fmt.Sprintf("the trial sandbox ended early: %v: %s", err, strings.TrimSpace(stderr.String())),
			Mend: mendNamespaces(),
		}}
	}
	var problems []Problem
	if err := json.Unmarshal(stdout.Bytes(), &problems); err != nil {
		return []Problem{{
			What: fmt.Sprintf("the trial sandbox gave no readable answer: %v", err),
			Mend: "The program that calls the check must run the applets of package sandbox.",
		}}
	}
	return problems
}

// checkKernel refuses kernels that lack mount_setattr(2), the newest call the
// lab needs (5.12).
func checkKernel() []Problem {
	err := unix.MountSetattr(-1, "", unix.AT_EMPTY_PATH, &unix.MountAttr{})
	if err != unix.ENOSYS {
		return nil
	}
	return []Problem{{What: "this kernel has no mount_setattr system call", Mend: "Use Linux 5.12 or newer."}}
}

func namespaceProblem(err error) Problem {
	return Problem{What: fmt.Sprintf("new namespaces are refused: %v", err), Mend: mendNamespaces()}
}

// mendNamespaces looks for the switches known to forbid namespaces.
func mendNamespaces() string {
	switch {
	case sysctl("user/max_user_namespaces") == "0":
		return "Run `sudo sysctl -w user.max_user_namespaces=15000`, or run the lab as root."
	case sysctl("kernel/unprivileged_userns_clone") == "0":
		return "Run `sudo sysctl -w kernel.unprivileged_userns_clone=1`, or run the lab as root."
	case sysctl("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "Run `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, or run the lab as root."
	case Privileged():
		return "Inside a container, give it the capabilities SYS_ADMIN and NET_ADMIN and an unmasked /proc (docker: --privileged)."
	}
	return "Allow unprivileged user namespaces on this computer, or run the lab as root."
}

// sysctl returns a kernel setting, or "" where it does not exist.
func sysctl(name string) string {
	data, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
