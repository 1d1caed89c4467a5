package host

import (
	"encoding/json"
	"fmt"

	"github.com/drover-project/drover/lab/internal/runfolder"
)

// Arguments say what lab the host runs.
type Arguments struct {
	Folder runfolder.Folder `json:"folder"`
	// ProviderDir is the folder of the provider under test; "" for none.
	ProviderDir string `json:"providerDir,omitempty"`
	// ProviderLater says that the processes of the provider under test are not
	// started until the control socket asks for it.
	ProviderLater bool `json:"providerLater,omitempty"`
	// Nodes is how many nodes the management cluster has. With any, nothing of
	// Cluster API is installed: not its core, and no provider.
	Nodes int `json:"nodes,omitempty"`
}

// CommandLine returns the arguments with which this program becomes the host.
func (a Arguments) CommandLine() ([]string, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("arguments of the host: %w", err)
	}
	return []string{Applet, string(data)}, nil
}
