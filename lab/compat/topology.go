package compat

import (
	"context"
	"fmt"
	"path"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// classes names, for each file with a topology, the file with its ClusterClass.
var classes = map[string]string{
	"examples/clusterclass/docker/cluster-template-topology.yaml":                          "examples/clusterclass/docker/clusterclass-template.yaml",
	"test/e2e/data/infrastructure/cluster-from-clusterclass-template-docker.yaml":          "test/e2e/data/infrastructure/clusterclass-template-docker.yaml",
	"test/e2e/data/infrastructure/cluster-from-clusterclass-template-docker-in-place.yaml": "test/e2e/data/infrastructure/clusterclass-template-docker-in-place.yaml",
}

var (
	clusterKind = clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind)
	classKind   = clusterv1.GroupVersion.WithKind("ClusterClass")
)

// isTopology tells whether a Cluster of the file is made from a ClusterClass.
func (c *check) isTopology() bool {
	return slices.ContainsFunc(c.sample.objects, func(o *unstructured.Unstructured) bool {
		_, found, _ := unstructured.NestedMap(o.Object, "spec", "topology")
		return o.GroupVersionKind() == clusterKind && found
	})
}

// isClass tells whether the file holds a ClusterClass.
func (c *check) isClass() bool {
	return slices.ContainsFunc(c.sample.objects, func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() == classKind })
}

// topologyOf returns the name of the file with a cluster of the sample's class.
func (c *check) topologyOf() string {
	for topology, class := range classes {
		if class == c.sample.path {
			return path.Base(topology)
		}
	}
	return "no file"
}

// applyClass applies the ClusterClass that a topology needs.
func (c *check) applyClass(ctx context.Context) error {
	if !c.isTopology() {
		return nil
	}
	file, known := classes[c.sample.path]
	i := slices.IndexFunc(c.samples, func(s *sample) bool { return s.path == file })
	if !known || i < 0 {
		return fmt.Errorf("its ClusterClass is in none of the files that are known for it; add it to the table of classes")
	}
	// The class goes into the namespace of the topology, so its variables get that name.
	class, err := c.samples[i].renamed(c.sample.name)
	if err != nil {
		return err
	}
	outcomes, _, err := c.kubectl.apply(ctx, class.text, class.objects)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.refusal != "" {
			return fmt.Errorf("its class: %s refused: %s", describe(o.object), o.refusal)
		}
	}
	c.row.note("made from the class in %s by Cluster API's topology controller", path.Base(file))
	return c.awaitClass(ctx)
}

// awaitClass waits until Cluster API has found nothing wrong with the class.
func (c *check) awaitClass(ctx context.Context) error {
	return c.awaitCondition(ctx, classKind, clusterv1.ClusterClassVariablesReadyCondition)
}

// awaitTopology waits until Cluster API has made everything of the topology.
func (c *check) awaitTopology(ctx context.Context) error {
	return c.awaitCondition(ctx, clusterKind, clusterv1.ClusterTopologyReconciledCondition)
}

func (c *check) awaitCondition(ctx context.Context, kind schema.GroupVersionKind, condition string) error {
	return waitFor(ctx, kind.Kind+" to be "+condition, settleTimeout, func(ctx context.Context) (string, error) {
		objects, err := c.list(ctx, c.sample.name, kind)
		if err != nil || len(objects) == 0 {
			return "there is none", err
		}
		if statusOf(&objects[0], condition) != metav1.ConditionTrue {
			return messages(&objects[0]), nil
		}
		return "", nil
	})
}

// bumpTopology raises the version of the topology. Cluster API hands it on only
// to a control plane that is running. Ours waits for its first machine for
// ever; so Drover is told to leave it alone, and its status says what a running
// one's would.
func (c *check) bumpTopology(ctx context.Context) error {
	controlPlanes, err := c.list(ctx, c.sample.name, controlPlaneKind)
	if err != nil {
		return err
	}
	controlPlane := &controlPlanes[0]
	if err := c.pause(ctx, false); err != nil {
		return err
	}
	if err := c.leaveAlone(ctx, controlPlane); err != nil {
		return err
	}
	if err := c.pretendRunning(ctx, controlPlane); err != nil {
		return err
	}
	clusters, err := c.list(ctx, c.sample.name, clusterKind)
	if err != nil {
		return err
	}
	before := clusters[0].DeepCopy()
	if err := unstructured.SetNestedField(clusters[0].Object, bumpedVersion+build, "spec", "topology", "version"); err != nil {
		return err
	}
	if err := c.client.Patch(ctx, &clusters[0], client.MergeFrom(before)); err != nil {
		return fmt.Errorf("raise the version of the topology: %w", err)
	}
	err = waitFor(ctx, "the new version to reach the control plane", settleTimeout, func(ctx context.Context) (string, error) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(controlPlane), controlPlane); err != nil {
			return "", err
		}
		if got, _, _ := unstructured.NestedString(controlPlane.Object, "spec", "version"); got != bumpedVersion+build {
			cluster := &unstructured.Unstructured{}
			cluster.SetGroupVersionKind(clusterKind)
			err := c.client.Get(ctx, client.ObjectKeyFromObject(before), cluster)
			return "it has " + got + "; the Cluster says: " + messages(cluster), err
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	c.row.note("version raised to %s through the topology", bumpedVersion+build)
	return nil
}

// leaveAlone has Drover pause the control plane, and waits until it has.
func (c *check) leaveAlone(ctx context.Context, o *unstructured.Unstructured) error {
	pause := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:""}}}`, clusterv1.PausedAnnotation)
	if err := c.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, pause)); err != nil {
		return fmt.Errorf("pause %s: %w", describe(o), err)
	}
	return waitFor(ctx, "the control plane to be paused", settleTimeout, func(ctx context.Context) (string, error) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return "", err
		}
		if statusOf(o, clusterv1.PausedCondition) != metav1.ConditionTrue {
			return "it is not", nil
		}
		return "", nil
	})
}

// pretendRunning writes the status of a control plane that runs in the version it is meant to.
func (c *check) pretendRunning(ctx context.Context, o *unstructured.Unstructured) error {
	before := o.DeepCopy()
	replicas, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	status, _, err := unstructured.NestedMap(o.Object, "status")
	if err != nil {
		return err
	}
	for _, count := range []string{"replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"} {
		status[count] = replicas
	}
	status["version"], status["observedGeneration"] = version+build, o.GetGeneration()
	if err := unstructured.SetNestedMap(o.Object, status, "status"); err != nil {
		return err
	}
	if err := c.client.Status().Patch(ctx, o, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of %s: %w", describe(o), err)
	}
	return nil
}
