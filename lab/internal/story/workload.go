package story

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// stopSeconds is how long a slow pod takes from its eviction until it is gone.
	stopSeconds = 60
	// briefSeconds is the same for stories that only need a drain to be one: core looks at a drain every 20 s.
	briefSeconds = 18
	// trapSlack is the part of it that the kubelet needs; the process sleeps the rest after SIGTERM. CAPI's core looks at
	// a drain every 20 s, so a pod that is gone a moment after 60 s would cost 80 s and blur what is measured.
	trapSlack    = 2
	graceSeconds = 90
	// termMark is what a slow pod prints when it receives SIGTERM.
	termMark = "received SIGTERM"
)

// slowLabels mark the pods that take their time to stop; the probes watch them.
var slowLabels = client.MatchingLabels{"app": "slow"}

// slowScript makes a pod that needs some seconds to stop. It waits in the background so that the trap runs at once.
func slowScript(seconds int) string {
	return fmt.Sprintf(`trap 'echo %s; sleep %d; echo stopped; exit 0' TERM; echo up; while :; do sleep 1 & wait $!; done`,
		termMark, seconds-trapSlack)
}

// slowDeployment runs one slow pod per server.
func slowDeployment(replicas, seconds int) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "slow", Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(replicas)),
			Selector: &metav1.LabelSelector{MatchLabels: slowLabels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: slowLabels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(graceSeconds)),
					AutomountServiceAccountToken:  ptr.To(false),
					HostNetwork:                   true,
					NodeSelector:                  map[string]string{"node-role.kubernetes.io/control-plane": "true"},
					Tolerations: []corev1.Toleration{
						{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists},
						{Key: "node-role.kubernetes.io/etcd", Operator: corev1.TolerationOpExists},
					},
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
							LabelSelector: &metav1.LabelSelector{MatchLabels: slowLabels}, TopologyKey: corev1.LabelHostname,
						}},
					}},
					Containers: []corev1.Container{{
						Name: "slow", Image: "lab/shell", ImagePullPolicy: corev1.PullIfNotPresent,
						Command: []string{"/bin/sh", "-c", slowScript(seconds)},
					}},
				},
			},
		},
	}
}

// slowBudget lets one slow pod be away at a time.
func slowBudget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "slow", Namespace: namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: slowLabels},
		},
	}
}

// RunSlowPods puts one slow pod on each server, protected by a budget, and waits until all are ready.
func (c *Cluster) RunSlowPods(ctx context.Context, replicas int) error {
	return c.runPods(ctx, replicas, stopSeconds)
}

// runPods is RunSlowPods with the time that a pod needs to stop.
func (c *Cluster) runPods(ctx context.Context, replicas, seconds int) error {
	c.r.Note("running %d pods that need %d s to stop, one per server, with a disruption budget", replicas, seconds)
	for _, o := range []client.Object{slowBudget(), slowDeployment(replicas, seconds)} {
		if err := c.Workload.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T: %w", o, err)
		}
	}
	return c.r.WaitFor(ctx, "the slow pods", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		d := &appsv1.Deployment{}
		err := c.Workload.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "slow"}, d)
		return d.Status.ReadyReplicas == int32(replicas), fmt.Sprintf("%d ready", d.Status.ReadyReplicas), err
	})
}
