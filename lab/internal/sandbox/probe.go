package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// OverlayDirs are the folders of the computer that every machine sees through
// a private writable overlay.
var OverlayDirs = []string{"/etc", "/usr/local", "/opt"}

// probeMain runs as the first process of a trial sandbox and prints the
// problems it meets as a JSON list.
func probeMain(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, probeApplet+" needs the run folder")
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(probe(args[0])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func probe(dir string) []Problem {
	if err := setUp(); err != nil {
		return []Problem{{What: fmt.Sprintf("a new sandbox cannot be prepared: %v", err), Mend: mendNamespaces()}}
	}
	problems := probeNetwork()
	for _, target := range OverlayDirs {
		if err := probeOverlay(target, dir); err != nil {
			problems = append(problems, Problem{
				What: err.Error(),
				Mend: "Choose a run folder on a local file system such as ext4, xfs or tmpfs, outside of /etc, /usr/local and /opt; the kernel must be 5.12 or newer with overlay support (`sudo modprobe overlay`).",
			})
		}
	}
	return problems
}

func probeNetwork() []Problem {
	var problems []Problem
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "probe0"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		problems = append(problems, Problem{What: fmt.Sprintf("no network bridge can be made: %v", err), Mend: "Load the module: `sudo modprobe bridge`."})
	}
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "probe1"}, PeerName: "probe2"}
	if err := netlink.LinkAdd(veth); err != nil {
		problems = append(problems, Problem{What: fmt.Sprintf("no veth pair can be made: %v", err), Mend: "Load the module: `sudo modprobe veth`."})
	}
	return problems
}

// probeOverlay writes one file through an overlay, as a machine does.
func probeOverlay(target, dir string) error {
	scratch, err := os.MkdirTemp(dir, "probe-")
	if err != nil {
		return fmt.Errorf("the run folder is not writable: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	upper, work := filepath.Join(scratch, "upper"), filepath.Join(scratch, "work")
	for _, path := range []string{upper, work} {
		if err := os.Mkdir(path, 0o755); err != nil {
			return fmt.Errorf("the run folder is not writable: %w", err)
		}
	}
	if err := MountOverlay(target, upper, work); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(target, ".lab-probe"), nil, 0o600); err != nil {
		return fmt.Errorf("write through overlay: %w", err)
	}
	return nil
}
