package labclient

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
)

// LocalKubeconfig writes a kubeconfig that programs outside of the lab can use:
// its server is a port on 127.0.0.1 from which this process tunnels into the
// lab until ctx ends. A nil cluster means the first management cluster. The
// caller removes the file.
func (l *Lab) LocalKubeconfig(ctx context.Context, cluster *client.ObjectKey) (path string, err error) {
	if cluster == nil {
		return l.LocalManagementKubeconfig(ctx, "")
	}
	return l.LocalWorkloadKubeconfig(ctx, "", *cluster)
}

// localise writes a kubeconfig whose servers are tunnels to those of the given one.
func (l *Lab) localise(ctx context.Context, inside []byte) (path string, err error) {
	config, err := clientcmd.Load(inside)
	if err != nil {
		return "", fmt.Errorf("read kubeconfig: %w", err)
	}
	for name, entry := range config.Clusters {
		server, err := url.Parse(entry.Server)
		if err != nil {
			return "", fmt.Errorf("server of kubeconfig: %w", err)
		}
		local, err := l.Forward(ctx, server.Host)
		if err != nil {
			return "", err
		}
		if entry.TLSServerName == "" {
			entry.TLSServerName = server.Hostname()
		}
		entry.Server = "https://" + local
		config.Clusters[name] = entry
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	file, err := os.CreateTemp(string(l.folder), "kubeconfig-")
	if err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Write(data); err != nil {
		return "", fmt.Errorf("write kubeconfig: %w", err)
	}
	return file.Name(), nil
}

// Forward passes connections to a free port on 127.0.0.1, whose address it
// returns, on to an IP address and port of the lab's network, until ctx ends.
func (l *Lab) Forward(ctx context.Context, inside string) (local string, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("forward to %s: %w", inside, err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				far, err := l.control.DialContext(ctx, "tcp", inside)
				if err != nil {
					_ = conn.Close()
					return
				}
				control.Pipe(far, conn)
			}()
		}
	}()
	return listener.Addr().String(), nil
}
