package reference_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/findingtest"
	"github.com/drover-project/drover/internal/admission/reference"
)

var path = field.NewPath("spec", "ref")

func TestObject(t *testing.T) {
	for name, c := range map[string]struct {
		ref            *corev1.ObjectReference
		crossNamespace bool
		want           []string
	}{
		"not set":           {},
		"own namespace":     {ref: &corev1.ObjectReference{Name: "login"}},
		"own, by name":      {ref: &corev1.ObjectReference{Name: "login.example", Namespace: "own"}},
		"another":           {ref: &corev1.ObjectReference{Name: "login", Namespace: "other"}, want: []string{`spec.ref.namespace: Invalid value: "other": a Secret of another namespace is not read, or whoever may create a cluster could read all of them: copy it to namespace own and leave this field out, or have the managers started with --allow-cross-namespace-references`}},
		"another, allowed":  {ref: &corev1.ObjectReference{Name: "login", Namespace: "other"}, crossNamespace: true},
		"empty":             {ref: &corev1.ObjectReference{}, want: []string{"spec.ref.name: Required value: name the Secret, or take the reference out"}},
		"only a namespace":  {ref: &corev1.ObjectReference{Namespace: "own"}, want: []string{"spec.ref.name: Required value: name the Secret"}},
		"no name":           {ref: &corev1.ObjectReference{Name: "Log in"}, want: []string{`spec.ref.name: Invalid value: "Log in": no Secret can have this name: a lowercase RFC 1123 subdomain`}},
		"no namespace name": {ref: &corev1.ObjectReference{Name: "login", Namespace: "a.b"}, crossNamespace: true, want: []string{`spec.ref.namespace: Invalid value: "a.b": no namespace can have this name`}},
	} {
		t.Run(name, func(t *testing.T) {
			var l finding.List
			policy := reference.Policy{Namespace: "own", CrossNamespace: c.crossNamespace}
			policy.Object(&l, path, reference.Secret, c.ref)
			findingtest.Check(t, l, findingtest.Want{Errors: c.want})
		})
	}
}

func TestValue(t *testing.T) {
	var l finding.List
	policy := reference.Policy{Namespace: "own"}
	policy.Value(&l, path, reference.ConfigMap, corev1.ObjectReference{})
	findingtest.Check(t, l, findingtest.Want{})
	policy.Value(&l, path, reference.ConfigMap, corev1.ObjectReference{Kind: "ConfigMap"})
	findingtest.Check(t, l, findingtest.Want{Errors: []string{"spec.ref.name: Required value: name the ConfigMap"}})
}

func TestKey(t *testing.T) {
	for name, c := range map[string]struct {
		ref  *bootstrapv1.FileSourceRef
		want []string
	}{
		"not set":  {},
		"complete": {ref: &bootstrapv1.FileSourceRef{Name: "a", Key: "file.yaml"}},
		"empty": {ref: &bootstrapv1.FileSourceRef{}, want: []string{
			"spec.ref.name: Required value", "spec.ref.key: Required value: name the key of the ConfigMap that holds the content"}},
		"no key": {ref: &bootstrapv1.FileSourceRef{Name: "a", Key: "etc/file"}, want: []string{
			`spec.ref.key: Invalid value: "etc/file": no ConfigMap can have this key`}},
		"another namespace": {ref: &bootstrapv1.FileSourceRef{Name: "a", Key: "b", Namespace: "other"}, want: []string{
			`spec.ref.namespace: Invalid value: "other": a ConfigMap of another namespace is not read`}},
	} {
		t.Run(name, func(t *testing.T) {
			var l finding.List
			reference.Policy{Namespace: "own"}.Key(&l, path, reference.ConfigMap, c.ref)
			findingtest.Check(t, l, findingtest.Want{Errors: c.want})
		})
	}
}
