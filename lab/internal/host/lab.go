package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/guest"
	"github.com/drover-project/drover/lab/internal/infra"
	"github.com/drover-project/drover/lab/internal/machine"
)

// lab is what the control socket controls.
type lab struct {
	machines *machine.Manager
	cloud    *infra.Cloud
	down     func()

	mu     sync.Mutex
	status control.Status

	provider    underTest
	managements managements
}

var _ control.Lab = (*lab)(nil)

func (l *lab) setReady() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.Ready = true
}

// Status implements control.Lab.
func (l *lab) Status() control.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// StopProvider implements control.Lab.
func (l *lab) StopProvider() error { return l.provider.stop() }

// StartProvider implements control.Lab.
func (l *lab) StartProvider(ctx context.Context, request control.StartRequest) error {
	return l.provider.start(ctx, request)
}

// AddManagement implements control.Lab.
func (l *lab) AddManagement(ctx context.Context, name string) error {
	return l.managements.add(ctx, name)
}

// Down implements control.Lab.
func (l *lab) Down() { l.down() }

// Machines implements control.Lab.
func (l *lab) Machines() []control.Machine {
	list := []control.Machine{}
	for _, info := range l.machines.List() {
		list = append(list, control.Machine{
			Name: info.Name, Cluster: info.Cluster, Role: string(info.Role), IP: info.IP.String(),
			ProviderID: info.ProviderID, FailureDomain: info.FailureDomain,
			State: string(info.State), Reason: info.Reason, Frozen: info.Frozen, Cut: info.Cut,
			UserData: string(info.Boot.State), UserDataMessage: info.Boot.Message,
		})
	}
	return list
}

// Balancers implements control.Lab.
func (l *lab) Balancers() []control.Balancer {
	list := []control.Balancer{}
	for _, b := range l.cloud.Balancers() {
		entry := control.Balancer{Cluster: b.Cluster.String(), Address: b.Address.String(), Backends: []control.Backend{}}
		for _, s := range b.Backends {
			entry.Backends = append(entry.Backends, control.Backend{
				Name: s.Name, Address: s.Address.Addr().String(), Port: int(s.Address.Port()),
				Healthy: s.Healthy, Excluded: s.Excluded, Open: s.Open, Total: s.Total, LastError: s.LastError,
			})
		}
		list = append(list, entry)
	}
	return list
}

// Disturb implements control.Lab.
func (l *lab) Disturb(name string, fault control.Fault) error {
	apply := map[control.Fault]func(string) error{
		control.Kill: l.machines.Kill, control.Freeze: l.machines.Freeze, control.Thaw: l.machines.Thaw,
		control.Cut: l.machines.Cut, control.Heal: l.machines.Heal,
	}[fault]
	if apply == nil {
		return fmt.Errorf("unknown fault %q", fault)
	}
	return known(apply(name))
}

// Blackhole implements control.Lab.
func (l *lab) Blackhole(namespace, cluster string, on bool) error {
	if !l.cloud.Blackhole(types.NamespacedName{Namespace: namespace, Name: cluster}, on) {
		return control.NotFound(fmt.Errorf("no load balancer serves Cluster %s/%s", namespace, cluster))
	}
	return nil
}

// Exec implements control.Lab.
func (l *lab) Exec(ctx context.Context, name string, request control.ExecRequest) (control.ExecResult, error) {
	result, err := l.machines.Exec(ctx, name, request.Argv, request.Stdin)
	return asExecResult(result), known(err)
}

func asExecResult(r guest.ExecResult) control.ExecResult {
	return control.ExecResult{Stdout: r.Stdout, Stderr: r.Stderr, ExitCode: r.Code}
}

// DialInside implements control.Lab.
func (l *lab) DialInside(ctx context.Context, name, address string) (net.Conn, error) {
	conn, err := l.machines.DialInside(ctx, name, address)
	return conn, known(err)
}

// known translates the causes that the control protocol tells apart.
func known(err error) error {
	if errors.Is(err, machine.ErrNotFound) {
		return control.NotFound(err)
	}
	return err
}
