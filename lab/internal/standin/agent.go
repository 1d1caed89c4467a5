package standin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// runAgent is `rke2 agent`.
func (n *node) runAgent(ctx context.Context) error {
	url := n.config.String("server")
	if url == "" {
		return fmt.Errorf("`server` is not set in config.yaml: an agent needs the URL of a server, https://HOST:%d", supervisor.Port)
	}
	client, credentials, err := n.register(ctx, url)
	if err != nil {
		return err
	}
	proxy := newAPIProxy(client.APIServers)
	if err := proxy.refresh(ctx); err != nil {
		return fmt.Errorf("list API servers: %w", err)
	}
	if err := proxy.listen(ctx, "127.0.0.1:6443"); err != nil {
		return err
	}
	go proxy.keepFresh(ctx)
	if err := n.startRuntime(ctx); err != nil {
		return err
	}
	files := kubeletFiles{Client: credentials.Client, Serving: credentials.Serving, ServerCA: credentials.ServerCA, ClientCA: credentials.ClientCA}
	if err := n.startKubelet(ctx, files); err != nil {
		return err
	}
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady); err != nil {
		return fmt.Errorf("notify readiness: %w", err)
	}
	<-ctx.Done()
	return nil
}

func (n *node) register(ctx context.Context, url string) (*supervisor.Client, supervisor.Agent, error) {
	var client *supervisor.Client
	var credentials supervisor.Agent
	password, err := nodePassword()
	if err != nil {
		return nil, credentials, err
	}
	err = until(ctx, 2*time.Second, func(ctx context.Context) (bool, error) {
		c, err := supervisor.Connect(ctx, url, n.token)
		if err == nil {
			client = c
			credentials, err = c.Agent(ctx, n.name, n.ip(), password)
		}
		if errors.Is(err, supervisor.ErrUnauthorized) || errors.Is(err, supervisor.ErrAuthority) {
			return false, fmt.Errorf("register at %s: %w", url, err)
		}
		if err != nil {
			n.log.Info("waiting for a server to register at", "server", url, "error", err)
			return false, nil
		}
		return true, nil
	})
	return client, credentials, err
}
