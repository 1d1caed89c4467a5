package certificates

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inject tells all callers whom to trust. What fails with one does not keep
// the others from learning it.
func (k *keeper) inject(ctx context.Context, trust []byte) error {
	var errs []error
	for _, name := range k.options.Mutating {
		errs = append(errs, k.injectInto(ctx, &admissionv1.MutatingWebhookConfiguration{}, name, trust))
	}
	for _, name := range k.options.Validating {
		errs = append(errs, k.injectInto(ctx, &admissionv1.ValidatingWebhookConfiguration{}, name, trust))
	}
	for _, name := range k.options.Converted {
		errs = append(errs, k.injectInto(ctx, &apiextensionsv1.CustomResourceDefinition{}, name, trust))
	}
	return errors.Join(errs...)
}

func (k *keeper) injectInto(ctx context.Context, caller client.Object, name string, trust []byte) error {
	err := unlessOutrun(func() error {
		if err := k.client.Get(ctx, client.ObjectKey{Name: name}, caller); err != nil {
			return err
		}
		before, ok := caller.DeepCopyObject().(client.Object)
		if !ok || !setTrust(caller, trust) {
			return nil
		}
		// Webhooks are a list, which a merge patch replaces as a whole: it must
		// be the list that was read.
		return k.client.Patch(ctx, caller, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return fmt.Errorf("tell %T %s the authority of the webhooks' certificate: %w", caller, name, err)
	}
	return nil
}

// setTrust says whether it changed something. Kinds that are not converted by
// a webhook are left as they are.
func setTrust(caller client.Object, trust []byte) bool {
	changed := false
	set := func(bundle *[]byte) {
		if !bytes.Equal(*bundle, trust) {
			*bundle, changed = trust, true
		}
	}
	switch caller := caller.(type) {
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range caller.Webhooks {
			set(&caller.Webhooks[i].ClientConfig.CABundle)
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range caller.Webhooks {
			set(&caller.Webhooks[i].ClientConfig.CABundle)
		}
	case *apiextensionsv1.CustomResourceDefinition:
		if c := caller.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig != nil {
			set(&c.Webhook.ClientConfig.CABundle)
		}
	}
	return changed
}
