package story

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/timeline"
)

var ignitionBoot = Story{
	Name:    "ignition",
	Purpose: "A server and a worker boot by Ignition instead of cloud-init, and a worker whose bootstrap fails says why on its LabMachine.",
	Short:   true,
	play:    playIgnition,
}

var (
	labMachineKind = schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "LabMachine"}
	configKind     = schema.GroupVersionKind{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2Config"}
	machineKind    = clusterv1.GroupVersion.WithKind("Machine")
)

const (
	// execCondition is the condition of a LabMachine that tells how the bootstrap went.
	execCondition = "BootstrapExecSucceeded"
	// conditionLimit is how long a condition may take to follow what it tells of.
	conditionLimit = 2 * time.Minute

	failingWorker = "failing"
	// failureReason is what the failing worker's command says before it fails.
	failureReason = "no such licence"
)

func playIgnition(ctx context.Context, r *Run) error {
	began := time.Now()
	spec := Spec{Name: "ignited", Servers: 1, Workers: 1, Version: versionOld, MaxSurge: 1, DrainSeconds: 60, Format: "ignition"}
	objects, err := packWorkers(spec.Objects())
	if err != nil {
		return err
	}
	c, err := r.createFrom(ctx, spec, objects, patience)
	if err != nil {
		return err
	}
	r.Figure(timeline.AtMost("a server and a worker until they are ready", time.Since(began), 3*time.Minute))
	if err := c.checkIgnited(ctx); err != nil {
		return err
	}
	if err := c.addFailingWorker(ctx); err != nil {
		return err
	}
	c.checkTold(ctx, labMachineKind, failingWorker, execCondition, "False BootstrapFailed", "step: preRKE2Commands[0]", failureReason)
	c.checkMirrored(ctx)
	failed := &clusterv1.Machine{}
	if err := r.Management.Get(ctx, client.ObjectKey{Namespace: namespace, Name: failingWorker}, failed); err != nil {
		return fmt.Errorf("read the failing worker: %w", err)
	}
	r.Check("machine "+failingWorker, "is no node", !failed.Status.NodeRef.IsDefined(), "Node %q", failed.Status.NodeRef.Name)
	return nil
}

// packWorkers has the workers' bootstrap data compressed, so that Ignition replaces one config by another.
func packWorkers(objects []client.Object) ([]client.Object, error) {
	for _, o := range objects {
		template, ok := o.(*unstructured.Unstructured)
		if !ok || template.GetKind() != "RKE2ConfigTemplate" {
			continue
		}
		if err := unstructured.SetNestedField(template.Object, true, "spec", "template", "spec", "gzipUserData"); err != nil {
			return nil, fmt.Errorf("compress the data of %s: %w", template.GetName(), err)
		}
	}
	return objects, nil
}

// checkIgnited looks into every machine of the cluster.
func (c *Cluster) checkIgnited(ctx context.Context) error {
	machines := &clusterv1.MachineList{}
	if err := c.r.Management.List(ctx, machines, client.InNamespace(namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: c.Spec.Name}); err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	for i := range machines.Items {
		name := machines.Items[i].Spec.InfrastructureRef.Name
		c.checkTold(ctx, labMachineKind, name, execCondition, "True BootstrapSucceeded")
		for _, look := range []struct{ rule, script, want string }{
			{"remembers its bootstrap on its disk", "cat /etc/cluster-api/bootstrap-success.complete", "success"},
			{"config.yaml is root's alone", "stat -c '%a %U' /etc/rancher/rke2/config.yaml", "600 root"},
			{"cloud-init had nothing to do", "[ -e /var/lib/cloud/instance/user-data.txt ] || echo no user data", "no user data"},
		} {
			output, _, err := c.r.Lab.Exec(ctx, name, "sh", "-c", look.script)
			if err != nil {
				return fmt.Errorf("look into machine %s: %w", name, err)
			}
			output = strings.TrimSpace(output)
			c.r.Check("machine "+name, look.rule, output == look.want, "%s", output)
		}
	}
	return nil
}

// addFailingWorker adds a Machine with a command that fails on purpose.
func (c *Cluster) addFailingWorker(ctx context.Context) error {
	c.r.Note("adding a worker whose bootstrap fails")
	s := c.Spec
	for _, o := range []client.Object{
		s.object(configKind.GroupVersion().String(), configKind.Kind, failingWorker, fields{
			"agentConfig":     s.agentConfig(),
			"preRKE2Commands": []any{"echo " + failureReason + " >&2; false"},
		}),
		s.object(labMachineKind.GroupVersion().String(), labMachineKind.Kind, failingWorker, fields{}),
		s.object(machineKind.GroupVersion().String(), machineKind.Kind, failingWorker, fields{
			"clusterName": s.Name, "version": s.Version, "deletion": s.deletion(),
			"bootstrap":         fields{"configRef": ref(configKind.Group, configKind.Kind, failingWorker)},
			"infrastructureRef": ref(labMachineKind.Group, labMachineKind.Kind, failingWorker),
		}),
	} {
		if err := c.r.Management.Create(ctx, o); err != nil {
			return fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
		}
	}
	return nil
}

// checkMirrored records that the failing worker's reason is on the RKE2Config, too, and so on the Machine.
func (c *Cluster) checkMirrored(ctx context.Context) {
	c.checkTold(ctx, configKind, failingWorker, "BootstrapSucceeded", "False BootstrapFailed", failureReason)
	c.checkTold(ctx, machineKind, failingWorker, clusterv1.MachineBootstrapConfigReadyCondition, "False", failureReason)
}

// checkTold waits until a condition says all of the words, which begin with its status and reason, and records it.
func (c *Cluster) checkTold(ctx context.Context, kind schema.GroupVersionKind, name, condition string, words ...string) {
	var told string
	err := c.r.WaitFor(ctx, fmt.Sprintf("%s of %s %s", condition, kind.Kind, name), conditionLimit, func(ctx context.Context) (bool, string, error) {
		var err error
		told, err = c.told(ctx, kind, name, condition)
		for _, word := range words {
			if !strings.Contains(told, word) {
				return false, told, err
			}
		}
		return true, told, err
	})
	c.r.Check(kind.Kind+" "+name, condition+" says "+strings.Join(words, ", "), err == nil, "%s", oneLine(told))
}

// told returns status, reason and message of a condition.
func (c *Cluster) told(ctx context.Context, kind schema.GroupVersionKind, name, condition string) (string, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	if err := c.r.Management.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return "", fmt.Errorf("read %s %s: %w", kind.Kind, name, err)
	}
	found, err := conditions.UnstructuredGet(object, condition)
	if err != nil || found == nil {
		return "no such condition", err
	}
	return fmt.Sprintf("%s %s: %s", found.Status, found.Reason, found.Message), nil
}
