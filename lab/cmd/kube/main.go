// Command kube holds the heavy parts of a cluster in one program: etcd, the
// Kubernetes control plane, the kubelet and kubectl. It acts as the part whose
// name it is called by (the name of its file, or else the first argument).
//
// All of them are the upstream programs, unchanged, but for the kubelet: see
// kubelet.go. The variable LAB_VERSION chooses the version that they report.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's ways to log in
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // metric of the version
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// parts are the programs by name. Each takes its arguments from os.Args, as the
// libraries underneath do, and returns the exit code.
var parts = map[string]func() int{
	"etcd":                    runEtcd,
	"kube-apiserver":          component(apiserver.NewAPIServerCommand),
	"kube-controller-manager": component(controllers.NewControllerManagerCommand),
	"kube-scheduler":          component(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 component(newKubeletCommand),
	"kubectl":                 runKubectl,
}

func main() { os.Exit(run()) }

func run() int {
	part := filepath.Base(os.Args[0])
	if parts[part] == nil {
		if len(os.Args) < 2 || parts[os.Args[1]] == nil {
			fmt.Fprintf(os.Stderr, "usage: %s PART ARGUMENTS…\nparts: %s\n", part, strings.Join(slices.Sorted(maps.Keys(parts)), ", "))
			return 2
		}
		part, os.Args = os.Args[1], os.Args[1:]
	}
	if err := chooseVersion(os.Getenv(versionVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return parts[part]()
}

// component runs one of Kubernetes' daemons.
func component(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func runEtcd() int {
	// It ends the program itself when it fails.
	etcdmain.Main(append([]string{"etcd"}, os.Args[1:]...))
	return 0
}

func runKubectl() int {
	// CheckErr prints the error the way users know it, and ends the program.
	kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
	return 0
}
