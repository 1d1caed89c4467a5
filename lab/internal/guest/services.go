package guest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/drover-project/drover/lab/internal/paths"
)

// servicesStatusFD is where the service manager finds the pipe to the machine manager.
const servicesStatusFD = 3

// servicesMain is the machine's service manager. It serves until the machine
// ends; beside that it works off the user data, once, and tells how the
// bootstrap goes.
func servicesMain([]string) int {
	syscall.CloseOnExec(servicesStatusFD)
	status := os.NewFile(servicesStatusFD, "status")
	if err := serve(context.Background(), status); err != nil {
		fmt.Fprintln(os.Stderr, "machine-services:", err)
		report(status, Report{Failure: err.Error()})
		return 1
	}
	return 0
}

func serve(ctx context.Context, status *os.File) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", paths.InitSocket)
	if err != nil {
		return fmt.Errorf("open %s: %w", paths.InitSocket, err)
	}
	manager := newManager()
	server := &http.Server{Handler: newHandler(manager), ReadHeaderTimeout: 10 * time.Second}
	report(status, Report{Ready: true})
	go followBootstrap(ctx, status)
	go boot(ctx, manager, status)
	return server.Serve(listener)
}
