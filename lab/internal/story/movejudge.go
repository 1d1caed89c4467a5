package story

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// judgeMove records whether everything arrived, nothing stayed, nothing was touched, and nothing is touched after it.
func (c *Cluster) judgeMove(ctx context.Context, before *picture) error {
	r := c.r
	left, err := objectsOf(ctx, c.source, c.Spec.Name)
	if err != nil {
		return fmt.Errorf("look into the first management cluster: %w", err)
	}
	r.Check("first management cluster", "nothing of the cluster is left", len(left) == 0, "%d objects left %s", len(left), some(slices.Sorted(maps.Keys(left))))

	began := time.Now()
	var differs []string
	err = r.WaitFor(ctx, "the status of all objects to be what it was", rebuildLimit, func(ctx context.Context) (bool, string, error) {
		objects, err := objectsOf(ctx, r.Management, c.Spec.Name)
		if err != nil {
			return false, "", err
		}
		differs = diff(before.status(), (&picture{objects: objects}).status())
		return len(differs) == 0, strings.Join(differs, "; "), nil
	})
	r.Figure(timeline.AtMost("status rebuilt after", time.Since(began), rebuildLimit))
	r.Check("status", "is what it was, of every object", err == nil, "%d objects, %d differ %s", len(before.objects), len(differs), some(differs))
	// From here on what was known of the machines is true again.
	c.Machines.FollowAt(ctx, r.Management)
	if err := c.WaitComplete(ctx, c.Spec.Servers, c.Spec.Version, patience); err != nil {
		return err
	}
	r.Note("complete in the second management cluster; nothing may be replaced for %s", quietTime)
	if err := c.staysQuiet(ctx); err != nil {
		return err
	}
	after, err := c.picture(ctx)
	if err != nil {
		return err
	}
	c.judgeArrival(before, after)
	c.judgeWorld(before, after)
	return nil
}

// staysQuiet looks for quietTime, or until that is not so, whether the machines stay the same objects.
func (c *Cluster) staysQuiet(ctx context.Context) error {
	arrived, err := machineIdentities(ctx, c.r.Management, c.Spec.Name)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(quietTime)
	looks := 0
	var faults []string
	err = c.r.WaitFor(ctx, "the minute to pass", quietTime+time.Minute, func(ctx context.Context) (bool, string, error) {
		machines, err := machineIdentities(ctx, c.r.Management, c.Spec.Name)
		if err != nil {
			return false, "", err
		}
		looks++
		faults = diff(arrived, machines)
		return len(faults) > 0 || time.Now().After(deadline), fmt.Sprintf("%d looks, nothing replaced", looks), nil
	})
	if err != nil {
		return err
	}
	c.r.Check("machines", "none is replaced for "+quietTime.String(), len(faults) == 0, "%d looks at %d machines %s", looks, len(arrived), some(faults))
	return nil
}

// judgeArrival compares the objects.
func (c *Cluster) judgeArrival(before, after *picture) {
	r := c.r
	const there = "second management cluster"
	differs := diff(before.names(), after.names())
	r.Check(there, "every object arrived, and no other", len(differs) == 0, "%s %s", after.census(), some(differs))
	differs = diff(before.specs(), after.specs())
	r.Check(there, "no spec differs", len(differs) == 0, "%d objects %s", len(after.objects), some(differs))
	differs = diff(before.owners(), after.owners())
	r.Check(there, "every object has the owners that it had", len(differs) == 0, "%d owner references %s", after.references(), some(differs))
	dangling := after.dangling()
	r.Check(there, "every owner reference names an object that is there", len(dangling) == 0, "%d dangling %s", len(dangling), some(dangling))
	differs = diff(before.secrets, after.secrets)
	r.Check("secrets", "authorities, token, kubeconfig and bootstrap data are the same bytes", len(differs) == 0 && len(after.secrets) > 0,
		"%s %s", strings.Join(slices.Sorted(maps.Keys(after.secrets)), ", "), some(differs))
}

// judgeWorld compares what is outside of the management clusters.
func (c *Cluster) judgeWorld(before, after *picture) {
	r := c.r
	differs := diff(before.booted, after.booted)
	r.Check("laboratory", "no machine was booted or ended", len(differs) == 0, "%d machines run since they were booted %s", len(after.booted), some(differs))
	differs = diff(before.nodes, after.nodes)
	r.Check("workload cluster", "the Nodes are the same objects", len(differs) == 0, "%d Nodes %s", len(after.nodes), some(differs))
	differs = diff(before.members, after.members)
	r.Check("etcd", "the member list is the same", len(differs) == 0, "%d members %s", len(after.members), some(differs))
}

// diff words the differences of two maps, by key and in order.
func diff(before, after map[string]string) []string {
	var out []string
	for key, was := range before {
		switch is, kept := after[key]; {
		case !kept:
			out = append(out, key+" is missing")
		case is != was:
			out = append(out, key+" "+firstDifference(was, is))
		}
	}
	for key := range after {
		if _, known := before[key]; !known {
			out = append(out, key+" is new")
		}
	}
	slices.Sort(out)
	return out
}

// firstDifference shows the first lines in which two texts differ; a text of one line is shown as a whole.
func firstDifference(was, is string) string {
	old, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	line := func(lines []string, i int) string {
		if i < len(lines) {
			return lines[i]
		}
		return "nothing"
	}
	for i := range max(len(old), len(now)) {
		if a, b := line(old, i), line(now, i); a != b {
			return fmt.Sprintf("was %s, is %s", shorten(a), shorten(b))
		}
	}
	return "is the same"
}

// some shows the first few of a list.
func some(list []string) string {
	const few = 5
	switch {
	case len(list) == 0:
		return ""
	case len(list) > few:
		return "(" + strings.Join(list[:few], "; ") + "; …)"
	}
	return "(" + strings.Join(list, "; ") + ")"
}
