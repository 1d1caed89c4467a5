package host

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/drover-project/drover/lab/internal/control"
)

// newLogger returns the logger of this process, also for the libraries in it.
func newLogger(out io.Writer) logr.Logger {
	log := logr.FromSlogHandler(slog.NewTextHandler(out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				a.Value = slog.StringValue(a.Value.Time().Format(time.RFC3339Nano))
			}
			return a
		},
	}))
	klog.SetLogger(log)
	ctrl.SetLogger(log)
	return log
}

func (h *host) serveControl(ctx context.Context, listener net.Listener) {
	if err := control.Serve(ctx, listener, h.lab); err != nil {
		h.log.Error(err, "the control socket is closed")
	}
}
