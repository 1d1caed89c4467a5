package guest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/drover-project/drover/lab/internal/paths"
)

// Exit codes of systemctl that scripts look at.
const (
	exitFailure      = 1
	exitNotActive    = 3
	exitNoSuchUnit   = 4
	exitNotInstalled = 5
)

// systemctlMain is the part of systemctl which user data for RKE2 uses.
func systemctlMain(args []string) int {
	var verb string
	var names []string
	var now, quiet, background bool
	for _, arg := range args {
		switch {
		case arg == "--now":
			now = true
		case arg == "-q" || arg == "--quiet":
			quiet = true
		case arg == "--no-block":
			background = true
		case strings.HasPrefix(arg, "-"):
			// Other options change how things are shown, not what happens.
		case verb == "":
			verb = arg
		default:
			names = append(names, strings.TrimSuffix(arg, ".service"))
		}
	}
	s := systemctl{client: NewClient(paths.InitSocket), now: now, quiet: quiet, background: background}
	return s.run(verb, names)
}

type systemctl struct {
	client                 *Client
	now, quiet, background bool
}

func (s systemctl) run(verb string, names []string) int {
	switch verb {
	case "daemon-reload", "reset-failed", "is-system-running":
		return 0
	case "start", "stop", "restart", "enable", "disable", "mask", "unmask", "is-active", "is-enabled", "status":
	default:
		fmt.Fprintf(os.Stderr, "Unknown command verb %s.\n", verb)
		return exitFailure
	}
	if len(names) == 0 {
		fmt.Fprintln(os.Stderr, "Too few arguments.")
		return exitFailure
	}
	codes := make([]int, 0, len(names))
	for _, name := range names {
		codes = append(codes, s.one(verb, name))
	}
	return slices.Max(codes)
}

func (s systemctl) one(verb, name string) int {
	switch verb {
	case "start", "stop", "restart":
		return s.job(verb, name)
	case "enable":
		return s.file(enableUnit(name), "start", name)
	case "disable":
		return s.file(disableUnit(name), "stop", name)
	case "mask":
		return s.file(maskUnit(name), "stop", name)
	case "unmask":
		return s.file(unmaskUnit(name), "", name)
	case "is-enabled":
		return s.isEnabled(name)
	}
	return s.status(verb, name)
}

// file ends a verb that changes unit files; with --now the job follows.
func (s systemctl) file(err error, job, name string) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	if s.now && job != "" {
		return s.job(job, name)
	}
	return 0
}

func (s systemctl) job(verb, name string) int {
	path := "/units/" + name + "/" + verb
	if s.background {
		path += "?" + noBlock
	}
	// Like systemd's TimeoutStartSec=0: a start may take as long as it takes.
	err := s.client.call(context.Background(), http.MethodPost, path, nil, &UnitStatus{})
	var refused *refusal
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &refused):
		fmt.Fprintf(os.Stderr, "Failed to %s %s.service: %v\n", verb, name, err)
		return exitFailure
	case refused.status == http.StatusNotFound:
		fmt.Fprintf(os.Stderr, "Failed to %s %s.service: Unit %s.service not found.\n", verb, name, name)
		return exitNotInstalled
	case refused.status == http.StatusForbidden:
		fmt.Fprintf(os.Stderr, "Failed to %s %s.service: Unit %s.service is masked.\n", verb, name, name)
		return exitFailure
	}
	fmt.Fprintf(os.Stderr, "Job for %s.service failed: %s.\nSee \"journalctl -u %s.service\" for details.\n", name, refused.reason, name)
	return exitFailure
}

func (s systemctl) isEnabled(name string) int {
	word, code := "disabled", exitFailure
	switch file := findUnitFile(name); {
	case file.masked:
		word = "masked"
	case file.path == "":
		fmt.Fprintf(os.Stderr, "Failed to get unit file state for %s.service: No such file or directory\n", name)
		return exitFailure
	case unitEnabled(name):
		word, code = "enabled", 0
	}
	s.print(word)
	return code
}

// status answers is-active and status.
func (s systemctl) status(verb, name string) int {
	var status UnitStatus
	if err := s.client.call(context.Background(), http.MethodGet, "/units/"+name, nil, &status); err != nil {
		s.print(string(UnitInactive))
		return exitNoSuchUnit
	}
	if verb == "status" {
		s.print(fmt.Sprintf("%s.service: %s (main PID %d)", name, status.State, status.MainPID))
	} else {
		s.print(string(status.State))
	}
	if status.State != UnitActive {
		return exitNotActive
	}
	return 0
}

func (s systemctl) print(word string) {
	if !s.quiet {
		fmt.Println(word)
	}
}
