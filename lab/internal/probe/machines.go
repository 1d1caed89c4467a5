package probe

import (
	"context"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// Machines follows the Machines of one cluster and its control plane object in the management cluster.
type Machines struct {
	log          *timeline.Log
	cluster      client.ObjectKey
	controlPlane schema.GroupVersionKind

	mu    sync.Mutex
	known map[string]*clusterv1.Machine
	state map[string]string
}

// hookPrefixes are the annotations by which others hold up the deletion of a Machine.
var hookPrefixes = []string{clusterv1.PreDrainDeleteHookAnnotationPrefix, clusterv1.PreTerminateDeleteHookAnnotationPrefix}

// FollowMachines starts following the machines of a cluster until ctx ends. controlPlane is the kind of its control
// plane object, which has the name of the cluster.
func FollowMachines(ctx context.Context, c client.WithWatch, cluster client.ObjectKey, controlPlane schema.GroupVersionKind, log *timeline.Log) *Machines {
	m := &Machines{log: log, cluster: cluster, controlPlane: controlPlane, known: map[string]*clusterv1.Machine{}, state: map[string]string{}}
	m.FollowAt(ctx, c)
	return m
}

// FollowAt goes on in another management cluster, to which the cluster was moved, with what is known already. The
// context of what has followed so far must have ended before the move, or the move looks like an end of everything.
func (m *Machines) FollowAt(ctx context.Context, c client.WithWatch) {
	opts := []client.ListOption{client.InNamespace(m.cluster.Namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: m.cluster.Name}}
	go follow(ctx, c, &clusterv1.MachineList{}, opts, m.machine)
	planes := &unstructured.UnstructuredList{}
	planes.SetGroupVersionKind(m.controlPlane.GroupVersion().WithKind(m.controlPlane.Kind + "List"))
	go follow(ctx, c, planes, []client.ListOption{client.InNamespace(m.cluster.Namespace)}, m.plane)
}

// Addresses returns the addresses of all control plane machines.
func (m *Machines) Addresses() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, machine := range m.known {
		if roleOf(machine) != timeline.Server {
			continue
		}
		for _, a := range machine.Status.Addresses {
			if a.Type == clusterv1.MachineInternalIP {
				out = append(out, a.Address)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func roleOf(machine *clusterv1.Machine) timeline.Role {
	if _, ok := machine.Labels[clusterv1.MachineControlPlaneLabel]; ok {
		return timeline.Server
	}
	return timeline.Worker
}

func (m *Machines) machine(s seen) {
	machine, ok := s.object.(*clusterv1.Machine)
	if !ok {
		return
	}
	m.mu.Lock()
	before := m.known[machine.Name]
	m.known[machine.Name] = machine
	if s.gone {
		delete(m.known, machine.Name)
	}
	m.mu.Unlock()
	for _, e := range machineEvents(before, machine, s.gone) {
		m.log.Append(s.dated(e))
	}
}

// machineEvents tells what changed between two looks at a Machine; before is nil at the first.
func machineEvents(before, now *clusterv1.Machine, gone bool) []timeline.Event {
	var out []timeline.Event
	add := func(kind timeline.Kind, e timeline.Event) {
		e.Kind, e.Machine = kind, now.Name
		out = append(out, e)
	}
	if before == nil {
		add(timeline.MachineCreated, timeline.Event{Role: roleOf(now), Version: now.Spec.Version})
		before = &clusterv1.Machine{}
	}
	if !booted(before) && booted(now) {
		add(timeline.MachineBooted, timeline.Event{})
	}
	if !before.Status.NodeRef.IsDefined() && now.Status.NodeRef.IsDefined() {
		add(timeline.MachineJoined, timeline.Event{Node: now.Status.NodeRef.Name})
	}
	if before.DeletionTimestamp.IsZero() && !now.DeletionTimestamp.IsZero() {
		add(timeline.MachineDeleting, timeline.Event{})
	}
	for key := range before.Annotations {
		if _, kept := now.Annotations[key]; !kept && isHook(key) {
			add(timeline.HookReleased, timeline.Event{Object: key})
		}
	}
	was, is := deletingStep(before), deletingStep(now)
	if is != was && is.reason != "" {
		add(timeline.MachineStep, timeline.Event{Object: is.reason, Detail: is.message})
	}
	if gone {
		add(timeline.MachineGone, timeline.Event{})
	}
	return out
}

func booted(m *clusterv1.Machine) bool {
	return ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false)
}

func isHook(key string) bool {
	return slices.ContainsFunc(hookPrefixes, func(p string) bool { return strings.HasPrefix(key, p) })
}

type step struct{ reason, message string }

func deletingStep(m *clusterv1.Machine) step {
	c := conditions.Get(m, clusterv1.MachineDeletingCondition)
	if c == nil || c.Status != metav1.ConditionTrue || m.DeletionTimestamp.IsZero() {
		return step{}
	}
	return step{reason: c.Reason, message: c.Message}
}

// plane notes changes of the control plane's conditions.
func (m *Machines) plane(s seen) {
	obj, ok := s.object.(*unstructured.Unstructured)
	if !ok || s.gone || obj.GetName() != m.cluster.Name {
		return
	}
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return
	}
	for _, item := range list {
		c, ok := item.(map[string]any)
		if !ok {
			continue
		}
		text := func(key string) string { v, _ := c[key].(string); return v }
		id := obj.GetName() + "/" + text("type")
		now := text("status") + " " + text("reason") + ": " + text("message")
		m.mu.Lock()
		changed := m.state[id] != now
		m.state[id] = now
		m.mu.Unlock()
		if changed {
			m.log.Append(timeline.Event{Kind: timeline.ControlPlaneState, Object: text("type"), Detail: now})
		}
	}
}
