// Command drover is the manager of the RKE2 bootstrap and control-plane
// providers for Cluster API.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // makes --logging-format=json known
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/drover-project/drover/internal/controller"
)

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "drover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("drover", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	flags.AddGoFlagSet(flag.CommandLine)
	var s settings
	s.addTo(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	options, err := s.options(flags.Args())
	if err != nil {
		return err
	}
	if err := s.startLogging(); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	defer logs.FlushLogs()
	ctrl.SetLogger(klog.Background())
	if s.decisionTrace == "" {
		return manage(ctx, s, options)
	}
	decisions, err := openTrace(s.decisionTrace)
	if err != nil {
		return err
	}
	options.Trace = decisions
	return errors.Join(manage(ctx, s, options), decisions.Close())
}

// manage runs the manager until ctx ends and its controllers have stopped.
func manage(ctx context.Context, s settings, options controller.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the management cluster: %w; give --kubeconfig or run inside of it", err)
	}
	config = rest.AddUserAgent(config, "drover")
	config.QPS, config.Burst = s.qps, s.burst
	mgr, err := controller.New(ctx, config, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
