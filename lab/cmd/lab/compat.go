package main

import (
	"context"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/drover-project/drover/lab/compat"
	"github.com/drover-project/drover/lab/internal/beside"
	"github.com/drover-project/drover/lab/internal/labclient"
)

// compatLab is a lab that ends with the process that checks manifests in it.
type compatLab struct{ *labclient.Lab }

// Down implements compat.Lab. Whether the logs stay is decided by the check.
func (l compatLab) Down(ctx context.Context) error { return l.Lab.Down(ctx, true) }

func newCompatCommand() *cobra.Command {
	var samples string
	c := &cobra.Command{
		Use:   "compat --samples DIR [PART-OF-PATH…]",
		Short: "Apply manifests of Cluster API Provider RKE2 to a lab and tell whether Drover takes them",
		Long: "Applies every manifest of a folder to a lab of its own, with stub definitions for infrastructure, and\n" +
			"prints for each file what was accepted, and whether anything would have been replaced.",
		RunE: func(cmd *cobra.Command, only []string) error {
			bin, err := beside.Dir()
			if err != nil {
				return err
			}
			// What the stub infrastructure has to say is no user's concern.
			ctrl.SetLogger(logr.Discard())
			return compat.Run(cmd.Context(), compat.Options{
				Samples: samples, Only: only, Kube: filepath.Join(bin, "kube"), Start: startForCompat, Out: cmd.OutOrStdout(),
			})
		},
	}
	c.Flags().StringVar(&samples, "samples", "", "folder of manifests; its folders are searched too")
	_ = c.MarkFlagRequired("samples")
	return c
}

func startForCompat(ctx context.Context, dir string, say func(string)) (compat.Lab, error) {
	lab, err := labclient.Start(ctx, labclient.Options{Dir: dir, Provider: "drover", Step: say, EndWithCaller: true})
	if err != nil {
		return nil, err
	}
	return compatLab{lab}, nil
}
