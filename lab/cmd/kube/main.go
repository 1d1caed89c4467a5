package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/version"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	sched "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	if v := os.Getenv("LAB_VERSION"); v != "" {
		if err := version.SetDynamicVersion(v); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	name := filepath.Base(os.Args[0])
	args := os.Args
	if len(args) > 1 && !isTool(name) {
		name = args[1]
		args = args[1:]
	}
	os.Args = args
	var c *cobra.Command
	switch name {
	case "etcd":
		etcdmain.Main(append([]string{"etcd"}, args[1:]...))
		return
	case "kube-apiserver":
		c = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		c = kcm.NewControllerManagerCommand()
	case "kube-scheduler":
		c = sched.NewSchedulerCommand()
	case "kubectl":
		c = cmd.NewDefaultKubectlCommand()
	case "kubelet":
		c = newKubeletCommand()
	case "kubelet-real":
		c = kubeletapp.NewKubeletCommand(context.Background())
	default:
		fmt.Fprintln(os.Stderr, "unknown applet", name, strings.Join(args, " "))
		os.Exit(2)
	}
	_ = context.Background
	os.Exit(cli.Run(c))
}

func isTool(n string) bool {
	switch n {
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kubelet":
		return true
	}
	return false
}
