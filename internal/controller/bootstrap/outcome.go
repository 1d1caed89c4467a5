package bootstrap

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
	"github.com/drover-project/drover/internal/world/supervisor"
)

const (
	// execSucceededCondition is what infrastructure providers that can look into their machines say of the bootstrap
	// data's run there (DockerMachine and KubevirtMachine do).
	execSucceededCondition = "BootstrapExecSucceeded"

	// bootPatience is how long a machine may take from its data to its Node before it is asked after.
	bootPatience = 15 * time.Minute
	// bootRetry is when to look again at a machine that has no Node: its infrastructure object is not watched, because
	// most of its changes are of no interest here and there may be many.
	bootRetry = 30 * time.Second
	// lateRetry is when to look again at one that has none for long.
	lateRetry = 5 * time.Minute
)

// boot is what is known of a machine that was given its data.
type boot struct {
	// node is the name of its Node; empty while there is none.
	node string
	// infrastructure names its infrastructure object, and reported is what that says of the run; nil when it says
	// nothing.
	infrastructure string
	reported       *metav1.Condition
	// since is when the data were made, and late is true when that is too long ago.
	since time.Time
	late  bool
	// supervisor says how RKE2's supervisor on the machine answers; empty when it was not asked.
	supervisor string
	// service is RKE2's service on the machine.
	service string
}

// outcome says what became of a machine that was given its data. The message changes only when what is known does.
func (b boot) outcome() metav1.Condition {
	c := metav1.Condition{Type: bootstrapv1.BootstrapSucceededCondition, Status: metav1.ConditionUnknown}
	switch {
	case b.node != "":
		c.Status, c.Reason = metav1.ConditionTrue, bootstrapv1.BootstrapSucceededReason
	case b.reported != nil && b.reported.Status == metav1.ConditionFalse:
		c.Status, c.Reason = metav1.ConditionFalse, bootstrapv1.BootstrapFailedReason
		c.Message = fmt.Sprintf("%s reports that the bootstrap failed: %s", b.infrastructure, b.reported.Message)
	case !b.late:
		c.Reason = bootstrapv1.WaitingForNodeReason
		c.Message = "the machine has its bootstrap data; it has no Node yet"
	default:
		c.Reason = bootstrapv1.BootstrapOverdueReason
		c.Message = fmt.Sprintf("the machine has its bootstrap data since %s and no Node yet; %s%s. Look at its console, and "+
			"on the machine at %s (what failed), %s (all output) and journalctl --unit %s",
			b.since.UTC().Format(time.RFC3339), b.lastSeen(), b.supervisor, render.FailurePath, render.LogPath, b.service)
	}
	return c
}

// lastSeen says what the infrastructure knows.
func (b boot) lastSeen() string {
	switch {
	case b.reported == nil:
		return b.infrastructure + " says nothing of the bootstrap"
	case b.reported.Status == metav1.ConditionTrue:
		return b.infrastructure + " reports that the bootstrap succeeded"
	default:
		return b.infrastructure + " reports that the bootstrap has not ended"
	}
}

// retry is when to look again; zero when a watch tells.
func (b boot) retry() time.Duration {
	switch {
	case b.node != "":
		return 0
	case b.late:
		return lateRetry
	default:
		return bootRetry
	}
}

// observeBoot finds out what became of the Machine that was given its data. The machines of a pool are not known here.
func (r *Reconciler) observeBoot(ctx context.Context, t *target) {
	if t.pool != nil {
		return
	}
	b := r.lookAfter(ctx, t)
	t.boot = &b
	r.announceFailure(t)
}

func (r *Reconciler) lookAfter(ctx context.Context, t *target) boot {
	b := boot{
		node: t.machine.Status.NodeRef.Name, infrastructure: "its " + t.machine.Spec.InfrastructureRef.Kind,
		service: "rke2-agent.service", since: time.Now(),
	}
	if b.node != "" {
		return b
	}
	if made := conditions.Get(t.config, bootstrapv1.DataSecretAvailableCondition); made != nil && made.Status == metav1.ConditionTrue {
		b.since = made.LastTransitionTime.Time
	}
	b.late = time.Since(b.since) > bootPatience
	found := scope.LookUp(ctx, r.APIReader, r.Client, t.machine.Spec.InfrastructureRef, t.machine.Namespace)
	if found.Object != nil {
		b.reported = reported(found.Object)
	}
	if t.isServer() {
		b.service = "rke2-server.service"
		if b.late {
			b.supervisor = r.askSupervisor(ctx, t)
		}
	}
	return b
}

// announceFailure makes an event of a failure that was not known yet. What failed stands in the condition.
func (r *Reconciler) announceFailure(t *target) {
	if t.boot.outcome().Status != metav1.ConditionFalse || conditions.IsFalse(t.config, bootstrapv1.BootstrapSucceededCondition) {
		return
	}
	r.Recorder.Eventf(t.config, t.machine, corev1.EventTypeWarning, bootstrapv1.BootstrapFailedReason, "Boot",
		"the bootstrap of Machine %s failed; the condition %s says why", t.machine.Name, bootstrapv1.BootstrapSucceededCondition)
}

// reported returns what an infrastructure object says of the run; nil when it says nothing.
func reported(object *unstructured.Unstructured) *metav1.Condition {
	c, err := conditions.UnstructuredGet(object, execSucceededCondition)
	if err != nil || c == nil || c.Status == metav1.ConditionUnknown && c.Message == "" && c.Reason == conditions.NotYetReportedReason {
		return nil
	}
	return c
}

// askSupervisor says, as the rest of a sentence, how RKE2's supervisor on a server answers.
func (r *Reconciler) askSupervisor(ctx context.Context, t *target) string {
	authority, err := secrets.LookupCA(ctx, r.APIReader, t.clusterKey(), secrets.ServerCA)
	if err != nil {
		return ""
	}
	for _, address := range t.machine.Status.Addresses {
		if address.Type != clusterv1.MachineInternalIP && address.Type != clusterv1.MachineExternalIP {
			continue
		}
		if err := supervisor.Ping(ctx, supervisor.URL(address.Address), authority.Cert); err == nil {
			return fmt.Sprintf("; RKE2 runs there, as its supervisor answers on %s", address.Address)
		}
	}
	return "; RKE2's supervisor does not answer there, so RKE2 does not run or cannot be reached from here"
}
