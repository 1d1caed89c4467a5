package upkeep

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fields is the tree of fields that one manager owns by server-side apply, in
// the form of metadata.managedFields: nested objects with keys such as
// "f:spec" (structured-merge-diff, fieldset v1).
type fields map[string]any

// appliedBy reads what a manager applied to an object. An object it never
// applied to has no fields.
func appliedBy(obj client.Object, manager string) fields {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply ||
			entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var tree fields
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &tree); err == nil {
			return tree
		}
	}
	return nil
}

// at goes down the tree. It is nil where nothing is owned.
func (f fields) at(path ...string) fields {
	for _, name := range path {
		child, ok := f["f:"+name].(map[string]any)
		if !ok {
			return nil
		}
		f = child
	}
	return f
}

// owns tells whether the field itself is owned.
func (f fields) owns(path ...string) bool {
	parent := f.at(path[:len(path)-1]...)
	_, ok := parent["f:"+path[len(path)-1]]
	return ok
}

// keys are the names of the owned fields right below.
func (f fields) keys() []string {
	var out []string
	for key := range f {
		if len(key) > 2 && key[:2] == "f:" {
			out = append(out, key[2:])
		}
	}
	return out
}

// elements are the keys of the owned elements of a list whose elements have
// keys.
func (f fields) elements() []map[string]string {
	var out []map[string]string
	for key := range f {
		text, isElement := strings.CutPrefix(key, "k:")
		var element map[string]string
		if isElement && json.Unmarshal([]byte(text), &element) == nil {
			out = append(out, element)
		}
	}
	return out
}

// elementsDiffer tells whether a list lacks a wanted element, or has one that
// was applied and is not wanted any more. Elements of others are theirs.
func elementsDiffer[T comparable](have, want []T, owned fields, key func(T) map[string]string) bool {
	for _, element := range want {
		if !slices.Contains(have, element) {
			return true
		}
	}
	for _, applied := range owned.elements() {
		if !slices.ContainsFunc(want, func(element T) bool { return maps.Equal(key(element), applied) }) {
			return true
		}
	}
	return false
}

// unwanted are the keys that were applied and are not wanted any more.
func unwanted(owned fields, want map[string]string) []string {
	var out []string
	for _, key := range owned.keys() {
		if _, wanted := want[key]; !wanted {
			out = append(out, key)
		}
	}
	return out
}

// holds tells whether a map has the wanted entries, and all of them were
// applied by the manager whose fields are given.
func holds(have, want map[string]string, owned fields) bool {
	for key := range want {
		if !owned.owns(key) {
			return false
		}
	}
	return includes(have, want)
}

// includes tells whether a map has the wanted entries.
func includes(have, want map[string]string) bool {
	for key, value := range want {
		if got, ok := have[key]; !ok || got != value {
			return false
		}
	}
	return true
}
