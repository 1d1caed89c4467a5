package compat

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fileTimeout bounds the work on one file, which takes about 20 seconds.
const fileTimeout = 20 * time.Minute

// check applies one sample and finds out what comes of it.
type check struct {
	*runner
	sample  *sample
	kubectl *kubectl
	row     *row
	// meant are the objects as they were accepted in the end, slips mended.
	meant []*unstructured.Unstructured
	// flags are what kubectl needs to apply them again, because of fields of these objects that do not exist.
	flags   []string
	relaxed []*unstructured.Unstructured
	// oldDiffers is true when the old version has been found to mean something else.
	oldDiffers bool
}

func (r *runner) checkOne(ctx context.Context, s *sample) row {
	result := row{file: s.path, notManifest: s.notManifest, objects: len(s.objects)}
	if s.notManifest != "" {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, fileTimeout)
	defer cancel()
	c := &check{runner: r, sample: s, row: &result}
	if err := c.run(ctx); err != nil {
		result.fault("%v", err)
	}
	return result
}

func (c *check) run(ctx context.Context) error {
	if err := c.makeReady(ctx); err != nil {
		return err
	}
	if err := c.apply(ctx); err != nil {
		return err
	}
	if err := c.throughOldVersion(ctx); err != nil {
		return err
	}
	controlPlanes, err := c.list(ctx, c.sample.name, controlPlaneKind)
	if err != nil {
		return err
	}
	if c.isClass() {
		c.row.note("a class; %s makes a cluster of it", c.topologyOf())
		return c.awaitClass(ctx)
	}
	if len(controlPlanes) == 0 && !c.isTopology() {
		c.row.note("makes no cluster: nothing to replace")
		return nil
	}
	return c.runCluster(ctx)
}

// runCluster lets the cluster come to rest, and then does what must replace nothing.
func (c *check) runCluster(ctx context.Context) error {
	if c.isTopology() {
		if err := c.awaitTopology(ctx); err != nil {
			return err
		}
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	c.row.runs = true
	if err := c.countMachines(ctx); err != nil {
		return err
	}
	if err := c.unchanged(ctx, "applied again", c.applyAgain); err != nil {
		return err
	}
	if err := c.unchanged(ctx, "applied as "+oldVersion, c.applyOldVersion); err != nil {
		return err
	}
	if err := c.reconcile(ctx); err != nil {
		return err
	}
	if err := c.verifyMachines(ctx); err != nil {
		return err
	}
	if c.isTopology() {
		return c.bumpTopology(ctx)
	}
	return nil
}

// makeReady makes what a user has before the manifest is applied: namespaces,
// and the class that a topology is made from.
func (c *check) makeReady(ctx context.Context) error {
	var err error
	if c.kubectl, err = newKubectl(c.kube, c.kubeconfig, c.kubectlDir(), c.sample.name); err != nil {
		return err
	}
	own := map[string]bool{}
	needed := map[string]bool{c.sample.name: true}
	for _, o := range c.sample.objects {
		if o.GetKind() == "Namespace" {
			own[o.GetName()] = true
		} else if o.GetNamespace() != "" {
			needed[o.GetNamespace()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if own[name] {
			continue
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := c.client.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make namespace %s: %w", name, err)
		}
	}
	return c.applyClass(ctx)
}

// apply applies the file as a user would, and judges every refusal.
func (c *check) apply(ctx context.Context) error {
	outcomes, warnings, err := c.kubectl.apply(ctx, c.sample.text, c.sample.objects)
	if err != nil {
		return err
	}
	for _, remark := range c.sample.remarks {
		c.row.note("%s", remark)
	}
	if err := c.judge(ctx, outcomes); err != nil {
		return err
	}
	for _, warning := range warnings {
		c.row.note("warns: %s", warning)
	}
	return c.makeReferents(ctx)
}

// makeReferents makes the Secrets and ConfigMaps that the manifest only refers
// to. They come after it, because their namespace may be its own.
func (c *check) makeReferents(ctx context.Context) error {
	for _, o := range missingReferents(c.sample) {
		kind := reflect.TypeOf(o).Elem().Name()
		if err := c.client.Create(ctx, o); err != nil {
			return fmt.Errorf("make %s %s: %w", kind, o.GetName(), err)
		}
		c.row.note("refers to %s %s, which it leaves to the user; one was made", kind, o.GetName())
	}
	return nil
}

// judge counts what was accepted, explains refusals by slips, mends those, and
// tells of refusals without a slip and of slips that are none any more.
func (c *check) judge(ctx context.Context, outcomes []outcome) error {
	used := map[*slip]bool{}
	var explained []explanation
	for _, o := range outcomes {
		if o.refusal == "" {
			c.row.accepted++
			c.meant = append(c.meant, o.object)
			continue
		}
		s := find(c.sample.path, o)
		if s == nil {
			c.row.unexplained++
			c.row.fault("%s refused, and no slip explains it: %s", describe(o.object), o.refusal)
			continue
		}
		used[s] = true
		explained = append(explained, explanation{s, o})
		if o.onlyStrict {
			c.flags, c.relaxed = []string{"--validate=warn"}, append(c.relaxed, o.object)
			c.meant = append(c.meant, o.object)
			continue
		}
		if err := c.applyMended(ctx, s, o); err != nil {
			return err
		}
	}
	c.row.notes = append(c.row.notes, tell(explained)...)
	for i := range slips {
		if s := &slips[i]; s.file == c.sample.path && !used[s] {
			c.row.fault("no %s is refused with %q any more; take the slip out of the list", s.kind, s.sentence)
		}
	}
	return nil
}

// applyMended shows that nothing but the slip stood in the way.
func (c *check) applyMended(ctx context.Context, s *slip, refused outcome) error {
	mended := s.mended(refused.object)
	again, err := c.kubectl.applyOne(ctx, mended, c.flags)
	if err != nil {
		return err
	}
	if again.refusal != "" && !again.onlyStrict {
		c.row.unexplained++
		c.row.fault("%s refused also with the slip mended: %s", describe(mended), again.refusal)
		return nil
	}
	c.meant = append(c.meant, mended)
	return nil
}
