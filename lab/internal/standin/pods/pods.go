// Package pods makes the static pods of an RKE2 server. Names, labels, flags
// and probes follow RKE2's own pod template as far as processes without images
// can have them.
package pods

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/kubeprogram"
	"github.com/drover-project/drover/lab/internal/paths"
)

// The components that run as static pods of a server.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// Dir is the kubelet's folder of static pods.
type Dir string

// Write puts a pod in place, whole or not at all.
func (d Dir) Write(pod *corev1.Pod) error {
	data, err := yaml.Marshal(pod)
	if err != nil {
		return fmt.Errorf("static pod %s: %w", pod.Name, err)
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	// The kubelet passes over files that begin with a dot.
	temporary := filepath.Join(string(d), "."+pod.Name)
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, d.file(pod.Name))
}

// Has tells whether a pod of that name is in place.
func (d Dir) Has(name string) bool {
	_, err := os.Stat(d.file(name))
	return err == nil
}

// RemoveAll takes the whole control plane down, as RKE2 does when its member
// is to be removed (pkg/rke2/spc.go).
func (d Dir) RemoveAll() error {
	var errs []error
	for _, name := range []string{APIServer, Scheduler, ControllerManager, Etcd} {
		if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d Dir) file(name string) string { return filepath.Join(string(d), name+".yaml") }

// Component is what differs between the pods.
type Component struct {
	Name    string
	Version string
	Args    []string
	// Extra are the user's arguments, with or without leading dashes. One of
	// the same name replaces ours.
	Extra []string
	// Environment is added to the process, as NAME=VALUE.
	Environment []string
	Probes      Probes
}

// Probes are the health endpoints on the node's loopback address.
type Probes struct {
	// Command asks for a path instead of the kubelet, which has no credentials.
	Command                      func(path string) []string
	Scheme                       corev1.URIScheme
	Port                         int
	Live, Ready, Start           string
	StartPeriod, ReadinessPeriod int32
}

// New makes the pod.
func New(c Component) *corev1.Pod {
	container := corev1.Container{
		Name:            c.Name,
		Image:           "lab/" + c.Name + ":" + strings.ReplaceAll(c.Version, "+", "-"),
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         append([]string{paths.KubeBinary, c.Name}, merge(c.Args, c.Extra)...),
		Env: []corev1.EnvVar{
			{Name: "LAB_VERSION", Value: c.Version},
			{Name: "GOGC", Value: kubeprogram.GarbageCollection},
			{Name: "GOMAXPROCS", Value: kubeprogram.Processors},
		},
	}
	for _, variable := range c.Environment {
		name, value, _ := strings.Cut(variable, "=")
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
	p := c.Probes
	container.LivenessProbe = p.probe(p.Live, 10, 8)
	container.StartupProbe = p.probe(p.Start, p.StartPeriod, 120)
	container.ReadinessProbe = p.probe(p.Ready, p.ReadinessPeriod, 3)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: metav1.NamespaceSystem,
			Labels: map[string]string{"component": c.Name, "tier": "control-plane"},
		},
		Spec: corev1.PodSpec{
			HostNetwork:       true,
			PriorityClassName: "system-cluster-critical",
			Containers:        []corev1.Container{container},
		},
	}
}

func (p Probes) probe(path string, period, failures int32) *corev1.Probe {
	if path == "" {
		return nil
	}
	handler := corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
		Host: "127.0.0.1", Scheme: p.Scheme, Port: intstr.FromInt(p.Port), Path: path,
	}}
	if p.Command != nil {
		handler = corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: p.Command(path)}}
	}
	return &corev1.Probe{ProbeHandler: handler, PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 15}
}

// merge adds the user's arguments, which win over ours of the same name.
func merge(ours, users []string) []string {
	replaced := map[string]bool{}
	normal := make([]string, 0, len(users))
	for _, arg := range users {
		arg = "--" + strings.TrimLeft(arg, "-")
		name, _, _ := strings.Cut(arg, "=")
		replaced[name] = true
		normal = append(normal, arg)
	}
	var out []string
	for _, arg := range ours {
		if name, _, _ := strings.Cut(arg, "="); !replaced[name] {
			out = append(out, arg)
		}
	}
	return append(out, normal...)
}
