package incumbent

import (
	"bytes"
	"fmt"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	"sigs.k8s.io/yaml"
)

const (
	// headers begin bootstrap data: it is always passed through the template engine.
	headers    = "## template: jinja\n#cloud-config\n\n"
	rootOwner  = "root:root"
	configMode = "0640"
	// sentinel tells Cluster API that the machine is a node. It is written whatever happened before.
	sentinel = "/run/cluster-api/bootstrap-success.complete"
)

// role is what a machine becomes. Its text is the name of RKE2's service.
type role string

const (
	server role = "server"
	agent  role = "agent"
)

// node is what the bootstrap data of one machine are made from.
type node struct {
	role    role
	version string
	// settings are those of config.yaml.
	settings map[string]any
	// authorities are set for the first server only; RKE2 hands them to the others.
	authorities secret.Certificates
}

// writeFile is an item of write_files.
type writeFile struct {
	Path        string `json:"path"`
	Owner       string `json:"owner"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

// bootstrapData returns the cloud-config of a machine: files, then commands.
func bootstrapData(n node) ([]byte, error) {
	files, err := n.files()
	if err != nil {
		return nil, err
	}
	data := bytes.NewBufferString(headers)
	// One key at a time: the order of the keys of a map would be that of the alphabet.
	for _, part := range []map[string]any{{"write_files": files}, {"runcmd": n.commands()}} {
		text, err := yaml.Marshal(part)
		if err != nil {
			return nil, fmt.Errorf("render bootstrap data: %w", err)
		}
		data.Write(text)
	}
	return data.Bytes(), nil
}

func (n node) files() ([]writeFile, error) {
	registries, err := yaml.Marshal(map[string]any{})
	if err != nil {
		return nil, fmt.Errorf("render registries.yaml: %w", err)
	}
	config, err := yaml.Marshal(n.settings)
	if err != nil {
		return nil, fmt.Errorf("render config.yaml: %w", err)
	}
	files := []writeFile{{Path: "/etc/rancher/rke2/registries.yaml", Owner: rootOwner, Permissions: configMode, Content: string(registries)}}
	for _, authority := range n.authorities {
		for _, file := range authority.AsFiles() {
			files = append(files, fromKubeadm(file))
		}
	}
	return append(files, writeFile{Path: "/etc/rancher/rke2/config.yaml", Owner: rootOwner, Permissions: configMode, Content: string(config)}), nil
}

// fromKubeadm turns a file of Cluster API's library into one of cloud-init.
func fromKubeadm(f bootstrapv1.File) writeFile {
	return writeFile{Path: f.Path, Owner: f.Owner, Permissions: f.Permissions, Content: f.Content}
}

// commands are run one after the other, whether or not the one before succeeded.
func (n node) commands() []string {
	install := fmt.Sprintf("curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=%s sh -s - server", n.version)
	other := agent
	if n.role == agent {
		install = fmt.Sprintf("curl -sfL https://get.rke2.io | INSTALL_RKE2_VERSION=%s INSTALL_RKE2_TYPE=%q sh -s -", n.version, agent)
		other = server
	}
	return []string{
		install,
		fmt.Sprintf("systemctl mask rke2-%s.service || true", other),
		fmt.Sprintf("systemctl enable rke2-%s.service", n.role),
		fmt.Sprintf("systemctl start rke2-%s.service", n.role),
		"mkdir -p /run/cluster-api",
		"echo success > " + sentinel,
	}
}
