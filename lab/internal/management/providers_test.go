package management

import (
	"net/netip"
	"os/exec"
	"testing"

	"github.com/drover-project/drover/lab/internal/provider"
	"github.com/drover-project/drover/lab/internal/runfolder"
)

// nowhere is a site on which nothing runs.
type nowhere struct{}

func (nowhere) Address() netip.Addr   { return netip.AddrFrom4([4]byte{10, 77, 0, 3}) }
func (nowhere) Start(*exec.Cmd) error { return nil }

// Two management clusters run the same provider, and what each writes about
// itself lies beside its own log.
func TestFilesBesideTheLog(t *testing.T) {
	which := &provider.Provider{Processes: []provider.Process{{Name: "demo", Argv: []string{"${LOG}-decisions.ndjson"}}}}
	for name, want := range map[string]string{"": "/lab/logs/demo-decisions.ndjson", "second": "/lab/logs/second-demo-decisions.ndjson"} {
		const folder = runfolder.Folder("/lab")
		p := &Plane{config: Config{Folder: folder, Name: name, Site: nowhere{}}, place: folder.Plane(name)}
		argv, _, err := which.Command(which.Processes[0], p.variables(which.Processes[0]))
		if err != nil || len(argv) != 1 || argv[0] != want {
			t.Errorf("management cluster %q: %q, %v, want %q", name, argv, err, want)
		}
	}
}
