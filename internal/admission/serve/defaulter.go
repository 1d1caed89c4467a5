// Package serve makes admission webhooks of functions on values.
package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// defaulter sets defaults in the request itself. The library's own defaulter
// sends back the whole object as this program writes it, which rewrites what
// the user wrote: 20m becomes 20m0s, a missing field becomes an empty one.
// Here only what the defaults changed is changed.
type defaulter[T client.Object] struct {
	decoder admission.Decoder
	empty   func() T
	set     func(T)
}

// Handle answers with the patch that adds the defaults.
func (d *defaulter[T]) Handle(_ context.Context, req admission.Request) admission.Response {
	object := d.empty()
	if err := d.decoder.DecodeRaw(req.Object, object); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return admission.Allowed("")
	}
	defaulted, err := addDefaults(req.Object.Raw, object, func() { d.set(object) })
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("set defaults: %w", err))
	}
	if defaulted == nil {
		return admission.Allowed("")
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, defaulted)
}

// addDefaults returns raw with what set adds to object, which was read from it;
// nil when that is nothing.
func addDefaults(raw []byte, object any, set func()) ([]byte, error) {
	before, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	set()
	after, err := json.Marshal(object)
	if err != nil || bytes.Equal(before, after) {
		return nil, err
	}
	added, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(raw, added)
}
