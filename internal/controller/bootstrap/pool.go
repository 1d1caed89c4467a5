package bootstrap

import (
	"bytes"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	admission "github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/render"
)

// follow makes the data of a pool, and makes them anew when what they are made from has changed. New data have
// infrastructure providers replace machines. So data that another provider made are kept until then, and so are data
// that an earlier release wrote down in another way.
func (r *Reconciler) follow(ctx context.Context, t *target) error {
	if err := t.namesDiffer(); err != nil {
		return err
	}
	current, err := r.currentData(ctx, t)
	if err != nil {
		return err
	}
	before, recorded := recordOn(current)
	t.joined = before.JoinAddress
	in, out, err := r.render(ctx, t)
	if err != nil {
		return err
	}
	now := newRecord(&in)
	switch {
	case current == nil, !recorded && !hasData(t.config):
		if err := r.renew(ctx, t, now, &out); err != nil {
			return err
		}
		r.tellMade(ctx, t, &in, &out)
		return nil
	case recorded && before != now && !sameData(current, &out):
		if err := r.renew(ctx, t, now, &out); err != nil {
			return err
		}
		r.tellRenewed(ctx, t, before.changes(now), &out)
		return nil
	case before != now:
		if err := r.note(ctx, current, now); err != nil {
			return err
		}
	}
	t.setDataSecret(current.Name)
	return nil
}

// namesDiffer is a *wait when all machines of the pool were to have one name. Control planes are refused for that at
// admission; a config does not know yet how many machines it is for.
func (t *target) namesDiffer() error {
	name, replicas := t.config.Spec.AgentConfig.NodeName, ptr.Deref(t.pool.Spec.Replicas, 1)
	if replicas <= 1 || !admission.IsConstant(name) {
		return nil
	}
	return waitFor(bootstrapv1.DataSecretNotAvailableReason,
		"agentConfig.nodeName: %q: the %d machines of MachinePool %s cannot have one name, RKE2 refuses the second: use a "+
			"cloud-init variable such as {{ ds.meta_data.local_hostname }}, or take it out", name, replicas, t.pool.Name)
}

// currentData are the data the pool has; nil when there are none of this config. They are read live: from an older state
// they would be made again.
func (r *Reconciler) currentData(ctx context.Context, t *target) (*corev1.Secret, error) {
	key := client.ObjectKey{Namespace: t.config.Namespace, Name: t.config.Name}
	if hasData(t.config) {
		key.Name = *t.config.Status.DataSecretName
	}
	found := &corev1.Secret{}
	err := r.APIReader.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", key, err)
	}
	if ref := ownerOf(found, bootstrapv1.GroupVersion.Group, configKind); ref == nil || ref.Name != t.config.Name {
		return nil, nil
	}
	return found, nil
}

func sameData(secret *corev1.Secret, out *render.Output) bool {
	return bytes.Equal(secret.Data[bootstrapv1.DataSecretValueKey], out.Data) &&
		string(secret.Data[bootstrapv1.DataSecretFormatKey]) == string(out.Format)
}

// renew writes data where there are none, or others.
func (r *Reconciler) renew(ctx context.Context, t *target, made record, out *render.Output) error {
	if err := r.unlock(ctx, t.clusterKey()); err != nil {
		return err
	}
	if err := r.saveData(ctx, t, out, made.annotation()); err != nil {
		return err
	}
	t.setDataSecret(t.config.Name)
	return nil
}

// note writes down what the data count as made from, and leaves the data alone.
func (r *Reconciler) note(ctx context.Context, secret *corev1.Secret, made record) error {
	annotate(secret, made.annotation())
	if err := r.Client.Update(ctx, secret); err != nil {
		return fmt.Errorf("annotate Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return nil
}

func (r *Reconciler) tellRenewed(ctx context.Context, t *target, changes string, out *render.Output) {
	ctrl.LoggerFrom(ctx).Info("Made the bootstrap data of a MachinePool anew", "MachinePool", t.pool.Name, "changed", changes)
	r.Recorder.Eventf(t.config, t.pool, corev1.EventTypeNormal, "BootstrapDataRenewed", "Update",
		"made the bootstrap data of MachinePool %s anew: changed %s", t.pool.Name, changes)
	r.tellWarnings(t, out)
}

// keepAvailable has the condition of a pool that has data say so even though they could not be brought up to date:
// machines are made from them as before, so the Secret is available, and saying otherwise would be wrong. That something
// is amiss stands in the message, and is what Ready says.
func (t *target) keepAvailable(data *metav1.Condition) {
	if t.pool == nil || !hasData(t.config) || data.Status == metav1.ConditionTrue {
		return
	}
	data.Status, data.Reason = metav1.ConditionTrue, bootstrapv1.DataSecretAvailableReason
	data.Message = "the data could not be brought up to date and are those made before: " + data.Message
}
