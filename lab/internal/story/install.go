package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/clusterctl"
	"github.com/drover-project/drover/lab/internal/manifest"
	"github.com/drover-project/drover/lab/internal/repository"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// managerNodes is a node for each of the three managers, and one for the successor of any of them: a node has room for
	// one pod.
	managerNodes = 4
	// clusterctlTimeout bounds one run of clusterctl.
	clusterctlTimeout = 10 * time.Minute
	// installLimit bounds an installation that waits for its managers: on an idle computer it takes a minute, and stories
	// run beside each other.
	installLimit = 6 * time.Minute
	// nextRelease is what the installation is upgraded to: the same manager under another name.
	nextRelease = "v1.0.99"
)

var installRelease = Story{
	Name: "install",
	Purpose: "clusterctl installs a release from a local repository; its managers run as pods with the rights and flags of the " +
		"manifests, create a cluster from the release's template, and are upgraded.",
	Short: true,
	setup: Setup{Nodes: managerNodes},
	play:  playInstall,
}

func playInstall(ctx context.Context, r *Run) (err error) {
	i, err := r.newInstallation(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.keepLogs(ctx)) }()
	if err := i.initialise(ctx); err != nil {
		return err
	}
	if err := i.judgeManagers(ctx, i.repository.Drover); err != nil {
		return err
	}
	c, err := i.createCluster(ctx)
	if err != nil {
		return err
	}
	if err := i.judgeRequests(ctx, c); err != nil {
		return err
	}
	if err := i.judgeLogs(ctx); err != nil {
		return err
	}
	if err := i.upgrade(ctx, c); err != nil {
		return err
	}
	if err := c.deleteAll(ctx, "under the upgraded managers"); err != nil {
		return err
	}
	if err := i.judgeLogs(ctx); err != nil {
		return err
	}
	return i.remove(ctx)
}

// installation is a management cluster that clusterctl works on.
type installation struct {
	r          *Run
	tool       clusterctl.Command
	repository repository.Repository
	kubeconfig string
}

func (r *Run) newInstallation(ctx context.Context) (*installation, error) {
	sources, err := repository.Beside()
	if err != nil {
		return nil, err
	}
	i := &installation{r: r}
	if i.repository, err = repository.Lay(filepath.Join(r.dir, "repository"), sources); err != nil {
		return nil, err
	}
	if i.tool, err = clusterctl.Beside(filepath.Join(r.dir, "clusterctl")); err != nil {
		return nil, err
	}
	i.kubeconfig, err = r.Lab.LocalManagementKubeconfig(ctx, "")
	return i, err
}

// clusterctl runs the real clusterctl and returns what it printed, which also becomes progress and stays in a log.
func (i *installation) clusterctl(ctx context.Context, args ...string) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, clusterctlTimeout)
	defer cancel()
	log, err := os.OpenFile(filepath.Join(i.r.dir, "logs", "clusterctl.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return "", fmt.Errorf("open log of clusterctl: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if _, err := fmt.Fprintf(log, "$ clusterctl %s\n", strings.Join(args, " ")); err != nil {
		return "", fmt.Errorf("write log of clusterctl: %w", err)
	}
	config := i.repository.Config()
	// What a user sets in the configuration file or in the environment, the manifests' variables take.
	config.Variables = map[string]string{"CLUSTER_TOPOLOGY": "true", "CAPRKE2_DEBUG_LEVEL": managerVerbosity}
	var printed bytes.Buffer
	words, end := i.r.speaker("clusterctl")
	err = i.tool.Run(ctx, io.MultiWriter(&printed, log, words), config, args...)
	end()
	return printed.String(), err
}

// managerVerbosity is a flag of Drover's managers that is not at its default, to be found again in their processes.
const managerVerbosity = "2"

// initialise is `clusterctl init`, which waits until the managers are available.
func (i *installation) initialise(ctx context.Context) error {
	i.r.Note("clusterctl init: Cluster API %s, rke2 %s", i.repository.Core, i.repository.Drover)
	began := time.Now()
	output, err := i.clusterctl(ctx, "init", "--kubeconfig="+i.kubeconfig, "--core=cluster-api",
		"--bootstrap="+repository.RKE2, "--control-plane="+repository.RKE2, "--infrastructure="+repository.Infrastructure,
		"--wait-providers", "--wait-provider-timeout=300")
	if err != nil {
		return err
	}
	i.r.Figure(timeline.AtMost("clusterctl init --wait-providers", time.Since(began), installLimit))
	for _, provider := range []string{"cluster-api", "bootstrap-rke2", "control-plane-rke2", "infrastructure-lab"} {
		i.r.Check("clusterctl init", "installs "+provider, containsLine(output, "Installing provider", provider), "%s", foundLine(output, provider))
	}
	i.r.Check("clusterctl init", "succeeds", strings.Contains(output, "initialized successfully"), "%s", foundLine(output, "initialized"))
	return nil
}

// containsLine tells whether one line of text contains all the words.
func containsLine(text string, words ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			return true
		}
	}
	return false
}

// foundLine returns the first line of text that contains the word, for a finding.
func foundLine(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return shorten(strings.TrimSpace(line))
		}
	}
	return "no line names " + word
}

// createCluster makes a cluster from the release's own template, as a user would.
func (i *installation) createCluster(ctx context.Context) (*Cluster, error) {
	s := Spec{Name: "installed", ControlPlane: "installed-servers", Servers: 1, Workers: 1, Version: versionOld}
	file := filepath.Join(i.r.dir, "cluster.yaml")
	if _, err := i.clusterctl(ctx, "generate", "cluster", s.Name, "--kubeconfig="+i.kubeconfig,
		"--from="+i.repository.Asset("cluster-template-lab.yaml"), "--write-to="+file, "--target-namespace="+namespace, "--kubernetes-version="+s.Version,
		fmt.Sprintf("--control-plane-machine-count=%d", s.Servers), fmt.Sprintf("--worker-machine-count=%d", s.Workers)); err != nil {
		return nil, err
	}
	parsed, err := manifest.Load([]string{file}, nil)
	if err != nil {
		return nil, fmt.Errorf("the template of the release: %w", err)
	}
	var objects []client.Object
	for _, o := range parsed {
		objects = append(objects, o.Unstructured)
	}
	began := time.Now()
	c, err := i.r.createFrom(ctx, s, objects, patience)
	if err != nil {
		return nil, err
	}
	i.r.Check("cluster "+s.Name, "made from the release's template, complete", true, "%d objects, %d server and %d worker after %s",
		len(objects), s.Servers, s.Workers, time.Since(began).Round(time.Second))
	return c, c.CheckMembers(ctx)
}
