package compat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// atOnce is how many files are worked on at a time.
	atOnce = 6
	// downTimeout bounds the end of the laboratory, which must also come after an interrupt.
	downTimeout = time.Minute
)

// ErrFailed means that a manifest was refused without a reason, or something would have been replaced.
var ErrFailed = errors.New("not compatible")

// ErrNoSamples means that there is nothing to apply.
var ErrNoSamples = errors.New("no samples")

// Lab is a running laboratory with Drover in it.
type Lab interface {
	// Management is the client configuration of the management cluster.
	Management() *rest.Config
	// LocalKubeconfig writes a kubeconfig with which programs on this computer reach a cluster, the management
	// cluster for nil, until ctx ends.
	LocalKubeconfig(ctx context.Context, cluster *client.ObjectKey) (path string, err error)
	// Down ends everything.
	Down(ctx context.Context) error
}

// Options say what to check with what.
type Options struct {
	// Samples is the folder of manifests.
	Samples string
	// Only are parts of the paths of the files to check; without any, all are checked.
	Only []string
	// Kube is the program that is kubectl when it is told so by its first argument.
	Kube string
	// Start starts a laboratory in a run folder and reports progress through say.
	Start func(ctx context.Context, dir string, say func(string)) (Lab, error)
	// Out gets progress and the table.
	Out io.Writer
}

// CheckFolder returns ErrNoSamples, with what to do, when the folder of samples is not there.
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	return fmt.Errorf("%w: %s is not a folder; it must hold a checkout of the samples of Cluster API Provider RKE2 "+
		"(its folders examples and test); name another one with SAMPLES=DIR", ErrNoSamples, dir)
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, clusterv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s); err != nil {
			// Only types that are not Kubernetes objects fail.
			panic(err)
		}
	}
	return s
}

// Run applies every sample, prints the table, and returns ErrFailed when something is not as it must be.
func Run(ctx context.Context, o Options) (err error) {
	if err := CheckFolder(o.Samples); err != nil {
		return err
	}
	samples, err := loadSamples(o.Samples)
	if err != nil {
		return err
	}
	if files := outdated(samples); len(files) > 0 {
		return fmt.Errorf("%w: the list of slips is about %s, which %s does not hold; take them out of the list",
			ErrFailed, strings.Join(files, " and "), o.Samples)
	}
	chosen := slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return !s.matches(o.Only) })
	if len(chosen) == 0 {
		return fmt.Errorf("%w: no path in %s holds %s", ErrNoSamples, o.Samples, strings.Join(o.Only, " or "))
	}
	dir, err := os.MkdirTemp("", "lab-compat-")
	if err != nil {
		return fmt.Errorf("make run folder: %w", err)
	}
	r := &runner{samples: samples, chosen: chosen, kube: o.Kube, dir: dir, out: o.Out, start: time.Now()}
	rows, err := r.inLab(ctx, o.Start)
	if ctx.Err() != nil {
		// An interrupted run has nothing to show; it leaves nothing behind.
		return errors.Join(ctx.Err(), os.RemoveAll(dir))
	}
	logs := filepath.Join(dir, "logs")
	if err != nil {
		return fmt.Errorf("%w (logs are kept in %s)", err, logs)
	}
	if ok := printTable(o.Out, rows); !ok {
		return fmt.Errorf("%w: see FAIL above; logs are kept in %s", ErrFailed, logs)
	}
	return os.RemoveAll(dir)
}

// runner applies the samples in one laboratory.
type runner struct {
	samples []*sample
	chosen  []*sample
	kube    string
	dir     string
	out     io.Writer
	start   time.Time

	client     client.WithWatch
	kubeconfig string
	machines   *machineLog

	printing sync.Mutex
}

func (r *runner) say(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	_, _ = fmt.Fprintf(r.out, "%6.1f s  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

// inLab starts a laboratory, checks everything in it, and ends it whatever happened.
func (r *runner) inLab(ctx context.Context, start func(context.Context, string, func(string)) (Lab, error)) (rows []row, err error) {
	lab, err := start(ctx, r.dir, func(text string) { r.say("%s", text) })
	if err != nil {
		return nil, fmt.Errorf("start laboratory: %w", err)
	}
	defer func() {
		endCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
		defer cancel()
		if downErr := lab.Down(endCtx); downErr != nil {
			err = errors.Join(err, fmt.Errorf("end laboratory: %w", downErr))
		}
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := r.prepare(ctx, lab); err != nil {
		return nil, err
	}
	return r.checkAll(ctx)
}

// kubectlDir is where the kubeconfigs and the cache of kubectl lie.
func (r *runner) kubectlDir() string { return filepath.Join(r.dir, "kubectl") }

func (r *runner) prepare(ctx context.Context, lab Lab) error {
	var err error
	if r.client, err = client.NewWithWatch(lab.Management(), client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("client of the management cluster: %w", err)
	}
	if err := os.MkdirAll(r.kubectlDir(), 0o700); err != nil {
		return fmt.Errorf("make folder of kubectl: %w", err)
	}
	if r.kubeconfig, err = lab.LocalKubeconfig(ctx, nil); err != nil {
		return err
	}
	kinds := stubKinds(r.samples)
	r.say("stub definitions of %d infrastructure kinds", len(kinds))
	if err := installStubs(ctx, r.client, kinds); err != nil {
		return err
	}
	if err := startInfrastructure(ctx, lab.Management(), kinds); err != nil {
		return err
	}
	r.machines, err = followMachines(ctx, r.client)
	return err
}

// checkAll checks the samples, some at a time, and returns their rows in order.
func (r *runner) checkAll(ctx context.Context) ([]row, error) {
	rows := make([]row, len(r.chosen))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, s := range r.chosen {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			rows[i] = r.checkOne(ctx, s)
			r.say("%s: %s", s.path, rows[i].verdict())
		})
	}
	all.Wait()
	return rows, ctx.Err()
}
