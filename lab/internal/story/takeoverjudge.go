package story

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/probe"
	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// exclusionHook is the pre-drain hook that Drover keeps on each server, and the incumbent did not.
	exclusionHook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/rke2-lb-exclusion"
	// diagnosticsPort is where the provider under test shows its metrics (lab/providers/drover/provider.yaml).
	diagnosticsPort = "9451"
	// leastLooks is the least number of reconciliations in restTime: one per object and period would be far more.
	leastLooks = int(restTime / resyncPeriod)
)

// replacedKinds are the kinds of which every server and worker has one object.
var replacedKinds = []schema.GroupVersionKind{
	clusterv1.GroupVersion.WithKind("Machine"),
	{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2", Kind: "LabMachine"},
	{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2Config"},
}

// takeoverWatch watches a cluster that is taken over.
type takeoverWatch struct {
	*Cluster
	// before is how the incumbent left the cluster, and adopted how it was when the hooks had come.
	before     *picture
	adopted    *picture
	population *probe.Population
	// known are the identities of the objects of replacedKinds before.
	known   map[types.UID]bool
	started time.Time
	// looks is the number of reconciliations when the hooks had come.
	looks int
}

// watchTakeover takes a picture of the cluster as the incumbent left it, and watches from then on.
func (c *Cluster) watchTakeover(ctx context.Context) (*takeoverWatch, error) {
	before, err := c.picture(ctx)
	if err != nil {
		return nil, err
	}
	w := &takeoverWatch{Cluster: c, before: before, known: map[types.UID]bool{}}
	for _, o := range before.objects {
		if slices.ContainsFunc(replacedKinds, func(k schema.GroupVersionKind) bool { return k.Kind == o.GetKind() }) {
			w.known[o.GetUID()] = true
		}
	}
	w.population = probe.FollowPopulation(ctx, c.r.Management, replacedKinds, client.InNamespace(namespace))
	return w, c.r.WaitFor(ctx, "all objects to be watched", time.Minute, func(context.Context) (bool, string, error) {
		return w.population.Ever() >= len(w.known), fmt.Sprintf("%d of %d", w.population.Ever(), len(w.known)), nil
	})
}

// start starts the provider under test and waits until it has adopted every server.
func (w *takeoverWatch) start(ctx context.Context) error {
	w.r.Note("starting the provider under test on it, with a look at everything every %s", resyncPeriod)
	w.started = time.Now()
	if err := w.r.Lab.StartProvider(ctx, "--sync-period="+resyncPeriod.String()); err != nil {
		return fmt.Errorf("start the provider under test: %w", err)
	}
	err := w.r.WaitFor(ctx, "hooks on every server", adoptLimit, func(ctx context.Context) (bool, string, error) {
		faults, err := w.faults(ctx)
		return err == nil && len(faults) == 0, strings.Join(faults, "; "), err
	})
	w.r.Figure(timeline.AtMost("start of Drover to its hooks on every server", time.Since(w.started), adoptLimit))
	if err != nil {
		return err
	}
	if w.adopted, err = w.picture(ctx); err != nil {
		return err
	}
	w.looks, err = w.reconciles(ctx)
	return err
}

// faults lists what is not as it should be with the control plane and its servers, which Drover knows to be its own.
func (w *takeoverWatch) faults(ctx context.Context) ([]string, error) {
	machines, err := w.servers(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range machines {
		m := &machines[i]
		for _, hook := range []string{exclusionHook, ourHook} {
			if _, ok := m.Annotations[hook]; !ok {
				out = append(out, m.Name+" has no hook "+hook)
			}
		}
		if c := conditions.Get(m, clusterv1.MachineUpToDateCondition); c == nil || c.Status != metav1.ConditionTrue {
			out = append(out, fmt.Sprintf("%s is not up to date: %s", m.Name, oneLine(text(c))))
		}
	}
	plane, err := w.plane(ctx)
	if err != nil {
		return nil, err
	}
	c, err := conditions.UnstructuredGet(plane, clusterv1.AvailableCondition)
	if err != nil {
		return nil, fmt.Errorf("read the conditions of the control plane: %w", err)
	}
	if c == nil || c.Status != metav1.ConditionTrue {
		out = append(out, "the control plane is not available: "+oneLine(text(c)))
	}
	return append(out, w.planeFaults(ctx, w.Spec.Servers)...), nil
}

// rest lets the provider look at everything for restTime. It ends early when something happens.
func (w *takeoverWatch) rest(ctx context.Context) error {
	w.r.Note("nothing may be replaced or rewritten for %s", restTime)
	deadline := time.Now().Add(restTime)
	var faults []string
	looks := 0
	err := w.r.WaitFor(ctx, "the time of rest to pass", restTime+time.Minute, func(ctx context.Context) (bool, string, error) {
		var err error
		if faults, err = w.faults(ctx); err != nil {
			return false, "", err
		}
		faults = append(faults, w.population.Changes(w.known)...)
		looks++
		return len(faults) > 0 || time.Now().After(deadline), fmt.Sprintf("%d looks, nothing happened", looks), nil
	})
	if err != nil {
		return err
	}
	w.r.Check("servers", fmt.Sprintf("have their hooks and are up to date for %s", restTime), len(faults) == 0, "%d looks %s", looks, some(faults))
	return nil
}

// judge records whether anything was replaced, rewritten or disturbed since the provider under test has come.
func (w *takeoverWatch) judge(ctx context.Context, clients *clients) error {
	after, err := w.picture(ctx)
	if err != nil {
		return err
	}
	r := w.r
	changes := w.population.Changes(w.known)
	r.Check("machines", "no Machine, LabMachine or RKE2Config came or left", len(changes) == 0, "%d objects %s", len(w.known), some(changes))
	differs := diff(w.before.names(), after.names())
	r.Check("objects", "none was added, none is gone", len(differs) == 0, "%s %s", after.census(), some(differs))
	differs = diff(w.before.specs(), after.specs())
	r.Check("objects", "no spec and no label differs", len(differs) == 0, "%d objects %s", len(after.objects), some(differs))
	differs = diff(w.before.generations(), after.generations())
	r.Check("objects", "every object is the same one, at the same generation", len(differs) == 0, "%d objects %s", len(after.objects), some(differs))
	differs = diff(w.before.owners(), after.owners())
	r.Check("objects", "have the owners that they had", len(differs) == 0, "%d owner references %s", after.references(), some(differs))
	// An owner that is named in the older version is named in the newer one when it is adopted: one write, without data.
	differs = diff(w.adopted.secretRevisions(), after.secretRevisions())
	r.Check("secrets", "authorities, token, kubeconfig and bootstrap data are not written at rest", len(differs) == 0 && len(after.secrets) > 0,
		"%d Secrets at the same revision %s", len(after.secrets), some(differs))
	differs = diff(w.before.secrets, after.secrets)
	r.Check("secrets", "are the same bytes", len(differs) == 0, "%d Secrets %s", len(after.secrets), some(differs))
	w.judgeWorld(w.before, after)
	restless := w.restless()
	r.Check("control plane", "was available and not rolling out throughout", len(restless) == 0, "conditions since the start %s", some(restless))
	looks, err := w.reconciles(ctx)
	if err != nil {
		return err
	}
	r.Check("provider", "looked at everything again and again", looks-w.looks >= leastLooks, "%d reconciliations in %s", looks-w.looks, restTime)
	r.Figure(
		timeline.AtMost("longest gap of the writer until the upgrade", clients.writer.Figures(time.Now()).Longest, shared.gap),
		timeline.AtMost("longest gap of the reader until the upgrade", clients.reader.Figures(time.Now()).Longest, shared.gap),
	)
	return nil
}

// restless are the changes of the control plane's conditions, since the provider has come, to what must not be.
func (w *takeoverWatch) restless() []string {
	var out []string
	for _, e := range w.r.Log.Events() {
		if e.Kind != timeline.ControlPlaneState || e.At.Before(w.started) {
			continue
		}
		isTrue := strings.HasPrefix(e.Detail, "True ")
		if (e.Object == "Available" && !isTrue) || (e.Object == "RollingOut" && isTrue) {
			out = append(out, e.Object+" "+oneLine(e.Detail))
		}
	}
	return out
}

// reconciles asks the provider under test how often it has looked at an object.
func (w *takeoverWatch) reconciles(ctx context.Context) (int, error) {
	activity, err := w.r.managerActivity(ctx)
	return activity.Reconciles, err
}

// managerActivity asks the provider under test what it has done so far on the management cluster.
func (r *Run) managerActivity(ctx context.Context) (probe.Activity, error) {
	management, err := url.Parse(r.Lab.Management().Host)
	if err != nil {
		return probe.Activity{}, fmt.Errorf("address of the management cluster: %w", err)
	}
	return probe.ReadActivity(ctx, r.Lab.DialContext, net.JoinHostPort(management.Hostname(), diagnosticsPort), management.Host)
}

// judgeUpgrade records that the upgrade replaced the servers and nothing else, and what a client of the older version
// of the API is shown.
func (w *takeoverWatch) judgeUpgrade(ctx context.Context) error {
	r := w.r
	var servers, workers int
	for _, e := range r.Log.Events() {
		switch {
		case e.Kind != timeline.MachineCreated || e.At.Before(w.started):
		case e.Role == timeline.Server:
			servers++
		default:
			workers++
		}
	}
	r.Check("control plane", "as many servers came as left", servers == w.Spec.Servers && workers == 0, "%d servers and %d workers came", servers, workers)
	return w.judgeOlderVersion(ctx)
}

// judgeOlderVersion reads the control plane as v1beta1, as tools do that were written for it.
func (w *takeoverWatch) judgeOlderVersion(ctx context.Context) error {
	plane := &unstructured.Unstructured{}
	plane.SetGroupVersionKind(controlPlaneKind.GroupKind().WithVersion("v1beta1"))
	if err := w.r.Management.Get(ctx, w.Spec.planeKey(), plane); err != nil {
		return fmt.Errorf("read the control plane as v1beta1: %w", err)
	}
	var shown []string
	for _, path := range [][]string{
		{"spec", "version"}, {"spec", "machineTemplate", "infrastructureRef", "name"}, {"status", "ready"}, {"status", "initialized"}, {"status", "readyReplicas"},
	} {
		value, _, err := unstructured.NestedFieldNoCopy(plane.Object, path...)
		if err != nil {
			return fmt.Errorf("read the control plane as v1beta1: %w", err)
		}
		shown = append(shown, fmt.Sprintf("%s %v", path[len(path)-1], value))
	}
	is := strings.Join(shown, ", ")
	want := fmt.Sprintf("version %s, name %s-servers, ready true, initialized true, readyReplicas %d", versionNew, w.Spec.Name, w.Spec.Servers)
	w.r.Check("control plane", "reads as v1beta1", is == want, "%s", is)
	return nil
}

// generations are the identities of the objects and how often their specs were changed.
func (p *picture) generations() map[string]string {
	return p.each(func(o *unstructured.Unstructured) string {
		return fmt.Sprintf("%s generation %d", o.GetUID(), o.GetGeneration())
	})
}

// secretRevisions tell whether a Secret was written.
func (p *picture) secretRevisions() map[string]string {
	out := map[string]string{}
	for key, o := range p.objects {
		if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Secret") {
			out[key] = "revision " + o.GetResourceVersion()
		}
	}
	return out
}
