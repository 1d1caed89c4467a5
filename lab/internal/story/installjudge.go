package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/sandbox"
)

// managerDeployment is a Deployment that clusterctl has installed.
type managerDeployment struct {
	namespace, name string
	// drover is true for the managers of the release.
	drover bool
	// argument is one that its manifest sets from a variable, with the value that this story gives it.
	argument string
}

func (d managerDeployment) String() string { return d.namespace + "/" + d.name }

var managerDeployments = []managerDeployment{
	{namespace: "capi-system", name: "capi-controller-manager", argument: "ClusterTopology=true"},
	{namespace: "rke2-bootstrap-system", name: "rke2-bootstrap-controller-manager", drover: true, argument: "--v=" + managerVerbosity},
	{namespace: "rke2-control-plane-system", name: "rke2-control-plane-controller-manager", drover: true, argument: "--v=" + managerVerbosity},
}

// judgeManagers compares what runs on the nodes with what the manifests say.
func (i *installation) judgeManagers(ctx context.Context, version string) error {
	for _, d := range managerDeployments {
		if err := i.judgeManager(ctx, d, version); err != nil {
			return fmt.Errorf("manager %s: %w", d, err)
		}
	}
	return i.judgeCertificates(ctx)
}

func (i *installation) judgeManager(ctx context.Context, d managerDeployment, version string) error {
	deployment := &appsv1.Deployment{}
	if err := i.r.Management.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: d.name}, deployment); err != nil {
		return err
	}
	available := deployment.Status.AvailableReplicas == 1 && deployment.Status.UpdatedReplicas == 1
	i.r.Check(d.name, "available", available, "%d of %d replicas", deployment.Status.AvailableReplicas, *deployment.Spec.Replicas)
	container := deployment.Spec.Template.Spec.Containers[0]
	if d.drover {
		i.r.Check(d.name, "image of the release", strings.HasSuffix(container.Image, ":"+version), "%s", container.Image)
	}
	var pod *corev1.Pod
	err := i.r.WaitFor(ctx, "the one pod of "+d.name, installLimit, func(ctx context.Context) (bool, string, error) {
		pods, err := i.pods(ctx, deployment)
		if err != nil || len(pods) != 1 {
			return false, fmt.Sprintf("it has %d pods", len(pods)), err
		}
		pod = &pods[0]
		return true, "", nil
	})
	if err != nil {
		return err
	}
	process, err := i.process(ctx, pod)
	if err != nil {
		return err
	}
	want := append(slices.Clone(container.Command), container.Args...)
	i.r.Check(d.name, "runs with the arguments of its manifest", slices.Equal(process.argv, want), "%d arguments, one is %q", len(process.argv), d.argument)
	i.r.Check(d.name, "takes the variables of the user", strings.Contains(strings.Join(process.argv, " "), d.argument), "%s", d.argument)
	if !sandbox.Privileged() {
		i.r.Step("%s runs as user %s: the laboratory of an ordinary user has no other, so this is not checked", d.name, process.uid)
		return nil
	}
	i.r.Check(d.name, "is not root, has no capabilities", process.uid == "65532" && strings.Trim(process.capabilities, "0") == "",
		"user %s, capabilities %s", process.uid, process.capabilities)
	return nil
}

// pods returns the pods of a Deployment that are not about to go. For a moment after an upgrade there are more than one:
// clusterctl deletes the old Deployment, and its pods follow when the garbage collector has noticed.
func (i *installation) pods(ctx context.Context, d *appsv1.Deployment) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := i.r.Management.List(ctx, pods, client.InNamespace(d.Namespace), client.MatchingLabels(d.Spec.Selector.MatchLabels)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// managerProcess is a manager's process as its node shows it.
type managerProcess struct {
	argv              []string
	uid, capabilities string
}

// processScript prints the user, the effective capabilities and the command line of the one process of the program /manager.
const processScript = `for p in /proc/[0-9]*; do
  [ "$(readlink $p/exe)" = /manager ] || continue
  awk '/^Uid:/ {print $2} /^CapEff:/ {print $2}' $p/status
  tr '\0' '\n' < $p/cmdline
done`

func (i *installation) process(ctx context.Context, pod *corev1.Pod) (managerProcess, error) {
	output, code, err := i.r.Lab.Exec(ctx, pod.Spec.NodeName, "/bin/sh", "-c", processScript)
	if err != nil || code != 0 {
		return managerProcess{}, errors.Join(err, fmt.Errorf("look at the processes of %s: exit code %d: %s", pod.Spec.NodeName, code, output))
	}
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(lines) < 3 {
		return managerProcess{}, fmt.Errorf("no process of %s runs on %s: %q", pod.Name, pod.Spec.NodeName, output)
	}
	return managerProcess{uid: lines[0], capabilities: lines[1], argv: lines[2:]}, nil
}

// judgeCertificates records who made the certificates of the webhooks.
func (i *installation) judgeCertificates(ctx context.Context) error {
	for _, d := range managerDeployments {
		if !d.drover {
			continue
		}
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
		if err := i.r.Management.List(ctx, list, client.InNamespace(d.namespace)); err != nil {
			return fmt.Errorf("certificates in %s: %w", d.namespace, err)
		}
		i.r.Check(d.name, "needs no cert-manager", len(list.Items) == 0, "%d Certificates in %s", len(list.Items), d.namespace)
	}
	return nil
}

// judgeLogs records whether a manager was refused something by the API server.
func (i *installation) judgeLogs(ctx context.Context) error {
	return i.eachPod(ctx, func(pod *corev1.Pod, log string) error {
		var refused []string
		for line := range strings.Lines(log) {
			if strings.Contains(line, "forbidden") {
				refused = append(refused, shorten(strings.TrimSpace(line)))
			}
		}
		first := ""
		if len(refused) > 0 {
			first = ", the first: " + refused[0]
		}
		i.r.Check(pod.Namespace, "its rights suffice", len(refused) == 0, "%d refusals in the log%s", len(refused), first)
		i.r.Check(pod.Namespace, "never restarted", restarts(pod) == 0, "%d restarts", restarts(pod))
		return nil
	})
}

func restarts(pod *corev1.Pod) int32 {
	var sum int32
	for _, c := range pod.Status.ContainerStatuses {
		sum += c.RestartCount
	}
	return sum
}

// keepLogs puts the managers' logs beside the others of the laboratory.
func (i *installation) keepLogs(ctx context.Context) error {
	return i.eachPod(ctx, func(pod *corev1.Pod, log string) error {
		return os.WriteFile(filepath.Join(i.r.dir, "logs", pod.Name+".log"), []byte(log), 0o644)
	})
}

// eachPod calls do with every manager's pod and its log. Pods that are about to go, since their
// Deployment has gone, are passed over.
func (i *installation) eachPod(ctx context.Context, do func(pod *corev1.Pod, log string) error) error {
	api, err := kubernetes.NewForConfig(i.r.Lab.Management())
	if err != nil {
		return fmt.Errorf("client of the management cluster: %w", err)
	}
	pods := &corev1.PodList{}
	if err := i.r.Management.List(ctx, pods); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		stream, err := api.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).Stream(ctx)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("log of %s: %w", pod.Name, err)
		}
		log, err := io.ReadAll(stream)
		if err := errors.Join(err, stream.Close()); err != nil {
			return fmt.Errorf("log of %s: %w", pod.Name, err)
		}
		if err := do(&pod, string(log)); err != nil {
			return err
		}
	}
	return nil
}
