package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/beside"
	"github.com/drover-project/drover/lab/internal/labclient"
)

func newKubectlCommand(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--dir DIR] [--management NAME] [--cluster [NAMESPACE/]NAME] ARGS…",
		Short: "Run kubectl against a management cluster or a workload cluster",
		Example: "  lab kubectl get machines -A\n" +
			"  lab kubectl --cluster demo get nodes\n" +
			"  lab kubectl --management second get clusters",
		// Everything but the lab's own leading flags belongs to kubectl.
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, rest := splitFlags(args)
			if own.help {
				return cmd.Help()
			}
			if own.dir != "" {
				*dir = own.dir
			}
			return kubectl(cmd, *dir, own, rest)
		},
	}
}

type kubectlFlags struct {
	dir, management, cluster string
	help                     bool
}

// splitFlags takes the lab's own flags from the front of args.
func splitFlags(args []string) (own kubectlFlags, rest []string) {
	for len(args) > 0 {
		name, value, assigned := strings.Cut(args[0], "=")
		used := 1
		if !assigned && len(args) > 1 {
			value, used = args[1], 2
		}
		switch name {
		case "--dir":
			own.dir = value
		case "--management":
			own.management = value
		case "--cluster":
			own.cluster = value
		case "-h", "--help":
			own.help = true
			return own, args
		default:
			return own, args
		}
		args = args[used:]
	}
	return own, args
}

func kubectl(cmd *cobra.Command, dir string, own kubectlFlags, args []string) error {
	lab, err := labclient.Attach(dir)
	if err != nil {
		return err
	}
	bin, err := beside.Dir()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	kubeconfig, err := localKubeconfig(ctx, lab, own)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(kubeconfig) }()

	// kubectl gets the terminal's signals itself and decides what they mean.
	signal.Ignore(syscall.SIGINT)
	child := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, "kube"), append([]string{"kubectl"}, args...)...)
	// Nothing is written outside of the run folder, and a user's own preferences do not count here.
	child.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECTL_KUBERC=false",
		"KUBECACHEDIR="+filepath.Join(string(lab.Folder()), "kubectl-cache"))
	child.Stdin, child.Stdout, child.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	err = child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(max(exit.ExitCode(), 1))
	}
	if err != nil {
		return fmt.Errorf("run kubectl: %w", err)
	}
	return nil
}

func localKubeconfig(ctx context.Context, lab *labclient.Lab, own kubectlFlags) (string, error) {
	if cluster := clusterKey(own.cluster); cluster != nil {
		return lab.LocalWorkloadKubeconfig(ctx, own.management, *cluster)
	}
	return lab.LocalManagementKubeconfig(ctx, own.management)
}

// clusterKey reads [NAMESPACE/]NAME; nil means none.
func clusterKey(text string) *client.ObjectKey {
	if text == "" {
		return nil
	}
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return &client.ObjectKey{Namespace: namespace, Name: name}
	}
	return &client.ObjectKey{Namespace: "default", Name: text}
}
