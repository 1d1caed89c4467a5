// Package provider describes what runs on a lab's management cluster: custom
// resource definitions, webhooks and processes, laid down in a folder. Cluster
// API's core, Drover and any other provider are such folders.
//
//	DIR/provider.yaml   the processes (type Provider)
//	DIR/crds/*.yaml     CustomResourceDefinitions
//	DIR/webhooks/*.yaml MutatingWebhookConfigurations and ValidatingWebhookConfigurations
package provider

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"
)

// Provider is the content of provider.yaml.
type Provider struct {
	// Name is used in messages.
	Name string `json:"name"`
	// Processes are started in order and restarted when they end.
	Processes []Process `json:"processes"`

	dir string
}

// Process is one program of a provider.
type Process struct {
	// Name names the log file and is unique among the processes of a lab.
	Name string `json:"name"`
	// Argv is the command line. See Variables for what is replaced in it and in Env.
	Argv []string          `json:"argv"`
	Env  map[string]string `json:"env,omitempty"`
	// Webhook is set when the process serves admission or conversion webhooks.
	Webhook *Webhook `json:"webhook,omitempty"`
	// ReadyURL answers 200 over plain HTTP once the process is ready; variables
	// are replaced in it too. A process without one counts as ready when it has started.
	ReadyURL string `json:"readyURL,omitempty"`
}

// Webhook says what a process serves with the certificate in its ${CERTDIR}.
type Webhook struct {
	// Port is the port of its HTTPS server.
	Port int `json:"port"`
	// Groups are the API groups whose conversion it serves under /convert. Every
	// kind of them that has more than one version is converted by it.
	ConversionGroups []string `json:"conversionGroups,omitempty"`
	// Admission is set when the configurations in webhooks/ point to this process.
	Admission bool `json:"admission,omitempty"`
}

// Load reads and checks the provider.yaml of a folder.
func Load(dir string) (*Provider, error) {
	path := filepath.Join(dir, "provider.yaml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist: a provider is a folder with provider.yaml and crds/*.yaml", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read provider: %w", err)
	}
	p := &Provider{}
	if err := yaml.UnmarshalStrict(data, p); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if p.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find provider folder: %w", err)
	}
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (p *Provider) validate() error {
	if p.Name == "" {
		return errors.New("name is missing")
	}
	names := map[string]bool{}
	admission := 0
	for i, process := range p.Processes {
		if process.Name == "" || len(process.Argv) == 0 {
			return fmt.Errorf("processes[%d] needs a name and an argv", i)
		}
		if names[process.Name] || slices.Contains(reserved, process.Name) {
			return fmt.Errorf("processes[%d]: the name %s is taken", i, process.Name)
		}
		names[process.Name] = true
		if w := process.Webhook; w != nil {
			if w.Port < 1 || w.Port > 65535 {
				return fmt.Errorf("process %s: webhook.port %d is not a port", process.Name, w.Port)
			}
			if w.Admission {
				admission++
			}
		}
	}
	if admission > 1 {
		return errors.New("more than one process has webhook.admission: true")
	}
	return nil
}

// reserved are the names of the lab's own log files.
var reserved = []string{"host", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// WithProgram returns the provider with another program file for its first process; "" leaves it as it is.
func (p *Provider) WithProgram(file string) *Provider {
	if file == "" || len(p.Processes) == 0 {
		return p
	}
	other := *p
	other.Processes = slices.Clone(p.Processes)
	argv := slices.Clone(p.Processes[0].Argv)
	argv[0] = file
	other.Processes[0].Argv = argv
	return &other
}

// Dir returns the absolute path of the provider's folder.
func (p *Provider) Dir() string { return p.dir }

// Variables are what a provider's command lines may refer to as ${NAME}.
type Variables struct {
	// Kubeconfig is the path of the management cluster's admin kubeconfig.
	Kubeconfig string
	// RunDir is the lab's run folder.
	RunDir string
	// Log is where the process's log file is, without its ending ".log". Other
	// files that the process writes about itself may begin with it: they stay
	// as long as the logs do.
	Log string
	// CertDir holds tls.crt and tls.key for the process's webhook server.
	CertDir string
	// Bin is the folder of the lab's own binaries.
	Bin string
	// Address is the IP address of the management cluster, on which the process is reached.
	Address string
}

// Command returns the command line and the additional environment of a process.
func (p *Provider) Command(process Process, v Variables) (argv, env []string, err error) {
	e := p.expander(v)
	for _, arg := range process.Argv {
		argv = append(argv, e.expand(arg))
	}
	for name, value := range process.Env {
		env = append(env, name+"="+e.expand(value))
	}
	slices.Sort(env)
	return argv, env, p.unknown(process, e)
}

// ReadyURL returns where a process tells that it is ready, "" if nowhere.
func (p *Provider) ReadyURL(process Process, v Variables) (string, error) {
	e := p.expander(v)
	url := e.expand(process.ReadyURL)
	return url, p.unknown(process, e)
}

func (p *Provider) unknown(process Process, e *expander) error {
	if len(e.unknown) == 0 {
		return nil
	}
	return fmt.Errorf("process %s of provider %s: unknown variable ${%s}; known are KUBECONFIG, RUNDIR, LOG, CERTDIR, BIN, ADDRESS, DIR", process.Name, p.Name, e.unknown[0])
}

// expander replaces variables and remembers the names that it does not know.
type expander struct {
	known   map[string]string
	unknown []string
}

func (p *Provider) expander(v Variables) *expander {
	return &expander{known: map[string]string{
		"KUBECONFIG": v.Kubeconfig, "RUNDIR": v.RunDir, "LOG": v.Log, "CERTDIR": v.CertDir,
		"BIN": v.Bin, "ADDRESS": v.Address, "DIR": p.dir,
	}}
}

func (e *expander) expand(s string) string {
	return os.Expand(s, func(name string) string {
		value, ok := e.known[name]
		if !ok {
			e.unknown = append(e.unknown, name)
		}
		return value
	})
}
