package compat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Groups and versions of Drover's kinds. The laboratory knows them as any
// provider's: by name.
const (
	bootstrapGroup    = "bootstrap.cluster.x-k8s.io"
	controlPlaneGroup = "controlplane.cluster.x-k8s.io"
	newVersion        = "v1beta2"
	oldVersion        = "v1beta1"
)

var (
	controlPlaneKind = schema.GroupVersionKind{Group: controlPlaneGroup, Version: newVersion, Kind: "RKE2ControlPlane"}
	configKind       = schema.GroupVersionKind{Group: bootstrapGroup, Version: newVersion, Kind: "RKE2Config"}
	// watchedKinds are those whose generation tells whether somebody changed what a user wants.
	watchedKinds = []schema.GroupVersionKind{
		controlPlaneKind, configKind,
		{Group: bootstrapGroup, Version: newVersion, Kind: "RKE2ConfigTemplate"},
		{Group: controlPlaneGroup, Version: newVersion, Kind: "RKE2ControlPlaneTemplate"},
		clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind),
		clusterv1.GroupVersion.WithKind("MachineDeployment"),
	}
)

// pausedKinds are those whose controllers confirm a pause.
var pausedKinds = []schema.GroupVersionKind{
	controlPlaneKind,
	clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind),
	clusterv1.GroupVersion.WithKind("MachineDeployment"),
	clusterv1.GroupVersion.WithKind("MachineSet"),
	clusterv1.GroupVersion.WithKind("Machine"),
}

// pollPeriod is how often the runner looks whether what it waits for has come.
const pollPeriod = 500 * time.Millisecond

// waitFor looks until look is content. look says in words what is missing, ""
// if nothing; an error is such a word, since whatever is asked may be on its way.
func waitFor(ctx context.Context, what string, limit time.Duration, look func(context.Context) (missing string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollPeriod)
	defer tick.Stop()
	last := "nothing was seen"
	for {
		missing, err := look(ctx)
		switch {
		case err == nil && missing == "":
			return nil
		case ctx.Err() != nil:
			// What was seen before says more than that the time is over.
		case err != nil:
			last = err.Error()
		default:
			last = missing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %s: %w", limit, what, last, ctx.Err())
		case <-tick.C:
		}
	}
}

// list returns all objects of a kind in a namespace.
func (r *runner) list(ctx context.Context, namespace string, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	return list.Items, nil
}

func (r *runner) machinesIn(ctx context.Context, namespace string) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	return list.Items, nil
}

// generations returns the generation of each object of the watched kinds in a namespace.
func (r *runner) generations(ctx context.Context, namespace string) (map[string]int64, error) {
	found := map[string]int64{}
	for _, kind := range watchedKinds {
		objects, err := r.list(ctx, namespace, kind)
		if err != nil {
			return nil, err
		}
		for i := range objects {
			found[describe(&objects[i])] = objects[i].GetGeneration()
		}
	}
	return found, nil
}

// conditionsOf returns status.conditions of an object of any kind.
func conditionsOf(o *unstructured.Unstructured) []metav1.Condition {
	found, err := conditions.UnstructuredGetAll(o)
	if err != nil {
		return nil
	}
	return found
}

// statusOf returns the status of a condition; "" when it is not there.
func statusOf(o *unstructured.Unstructured, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(conditionsOf(o), kind); c != nil {
		return c.Status
	}
	return ""
}

// messages joins what all conditions say, to find or show a sentence in it.
func messages(o *unstructured.Unstructured) string {
	var said []string
	for _, c := range conditionsOf(o) {
		if c.Message != "" {
			said = append(said, c.Type+": "+strings.Join(strings.Fields(c.Message), " "))
		}
	}
	return strings.Join(said, "; ")
}
