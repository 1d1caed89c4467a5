package kubenode

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/cri"
	"github.com/drover-project/drover/lab/internal/paths"
)

// Identity is what makes a machine this node.
type Identity struct {
	// Kubeconfig is the kubelet's access to the cluster.
	Kubeconfig []byte
	// ClientCA verifies those who call the kubelet (PEM).
	ClientCA []byte
	// Images are the images that its pods can have.
	Images cri.Catalog
}

// cloudConfig is a cloud-config document.
type cloudConfig struct {
	Files    []cloudFile `json:"write_files"`
	Commands [][]string  `json:"runcmd"`
}

type cloudFile struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

// UserData returns the cloud-config with which a machine becomes the node.
func UserData(id Identity) ([]byte, error) {
	images, err := json.Marshal(id.Images)
	if err != nil {
		return nil, fmt.Errorf("images of a node: %w", err)
	}
	config := cloudConfig{
		Files: []cloudFile{
			{Path: kubeconfig, Permissions: "0600", Content: string(id.Kubeconfig)},
			{Path: clientCA, Permissions: "0644", Content: string(id.ClientCA)},
			{Path: imagesFile, Permissions: "0644", Content: string(images)},
			{Path: "/etc/systemd/system/" + Applet + ".service", Permissions: "0644", Content: unitFile},
		},
		Commands: [][]string{{"systemctl", "enable", "--now", Applet + ".service"}},
	}
	data, err := yaml.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("user data of a node: %w", err)
	}
	return append([]byte("#cloud-config\n"), data...), nil
}

// unitFile says what the machine's service manager does anyway.
const unitFile = "[Service]\nType=notify\nRestart=always\nExecStart=" + paths.LabBinary + " " + Applet + "\n"
