package story

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// machineIdentities are the Machine objects of a cluster, by name.
func machineIdentities(ctx context.Context, c client.Client, cluster string) (map[string]string, error) {
	list := &clusterv1.MachineList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	out := map[string]string{}
	for _, m := range list.Items {
		out[m.Name] = string(m.UID)
		if !m.DeletionTimestamp.IsZero() {
			out[m.Name] += " leaving"
		}
	}
	return out, nil
}

// secretPrints never holds what is in a Secret, only whether it is the same.
func (c *Cluster) secretPrints(ctx context.Context) (map[string]string, error) {
	list := &corev1.SecretList{}
	if err := c.r.Management.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	out := map[string]string{}
	for _, s := range list.Items {
		sum := sha256.New()
		_, _ = fmt.Fprintf(sum, "%s\n", s.Type)
		for _, key := range slices.Sorted(maps.Keys(s.Data)) {
			_, _ = fmt.Fprintf(sum, "%s %d\n%s", key, len(s.Data[key]), s.Data[key])
		}
		out[s.Name] = hex.EncodeToString(sum.Sum(nil)[:8])
	}
	return out, nil
}

// bootTimes reads inside each machine when its first process started, in clock ticks since the computer did.
func (r *Run) bootTimes(ctx context.Context) (map[string]string, error) {
	names, err := r.Lab.MachineNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the machines of the laboratory: %w", err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, code, err := r.Lab.Exec(ctx, name, "cat", "/proc/1/stat")
		if err != nil || code != 0 {
			return nil, fmt.Errorf("look into machine %s: exit code %d, %s: %w", name, code, oneLine(text), err)
		}
		// The second field, the program's name in parentheses, may hold anything; the 22nd is the start (proc(5)).
		fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		const started = 22 - 3
		if len(fields) <= started {
			return nil, fmt.Errorf("look into machine %s: unreadable %q", name, oneLine(text))
		}
		out[name] = fields[started]
	}
	return out, nil
}

func (c *Cluster) nodeIdentities(ctx context.Context) (map[string]string, error) {
	list := &corev1.NodeList{}
	if err := c.Workload.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	out := map[string]string{}
	for _, n := range list.Items {
		out[n.Name] = string(n.UID)
	}
	return out, nil
}

func (c *Cluster) memberIdentities(ctx context.Context) (map[string]string, error) {
	members, err := c.Etcd.Members(ctx, c.Machines.Addresses())
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, m := range members {
		out[m.Name] = fmt.Sprintf("%x at %s, learner %t", m.ID, m.Address, m.Learner)
	}
	return out, nil
}
