package compat

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// machineLog remembers every Machine that has ever been made.
type machineLog struct {
	mu    sync.Mutex
	seen  map[string]map[types.UID]bool // by namespace; the value tells servers from workers
	ended bool
}

// errBlind means that Machines may have come and gone unseen.
var errBlind = errors.New("the API server ended the watch on Machines; run it again")

// followMachines watches Machines until ctx ends.
func followMachines(ctx context.Context, c client.WithWatch) (*machineLog, error) {
	watcher, err := c.Watch(ctx, &clusterv1.MachineList{})
	if err != nil {
		return nil, fmt.Errorf("follow Machines: %w", err)
	}
	l := &machineLog{seen: map[string]map[types.UID]bool{}}
	go l.read(watcher)
	return l, nil
}

func (l *machineLog) read(watcher watch.Interface) {
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if machine, ok := event.Object.(*clusterv1.Machine); ok {
			l.add(machine)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

func (l *machineLog) add(machine *clusterv1.Machine) {
	_, server := machine.Labels[clusterv1.MachineControlPlaneLabel]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[machine.Namespace] == nil {
		l.seen[machine.Namespace] = map[types.UID]bool{}
	}
	l.seen[machine.Namespace][machine.UID] = server
}

// counts returns how many servers and workers a namespace has ever had.
func (l *machineLog) counts(namespace string) (servers, workers int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return 0, 0, errBlind
	}
	for _, server := range l.seen[namespace] {
		if server {
			servers++
		} else {
			workers++
		}
	}
	return servers, workers, nil
}
