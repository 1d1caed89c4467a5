// Package reference holds the rules for references to Secrets and ConfigMaps:
// their names are names, and they stay in the namespace of the object.
package reference

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
)

// Kinds that are referred to.
const (
	Secret    = "Secret"
	ConfigMap = "ConfigMap"
)

// flag lets references leave the namespace.
const flag = "--allow-cross-namespace-references"

// Policy says where the references of an object may lead.
type Policy struct {
	// Namespace of the object, which references without one lead to.
	Namespace string
	// CrossNamespace allows references to other namespaces.
	CrossNamespace bool
}

// Object checks a reference to a whole object. A nil one is not set.
func (p Policy) Object(l *finding.List, path *field.Path, kind string, ref *corev1.ObjectReference) {
	if ref == nil {
		return
	}
	p.check(l, path, kind, ref.Name, ref.Namespace)
}

// Value checks a reference that is no pointer. An empty one is not set.
func (p Policy) Value(l *finding.List, path *field.Path, kind string, ref corev1.ObjectReference) {
	if ref != (corev1.ObjectReference{}) {
		p.Object(l, path, kind, &ref)
	}
}

// Key checks a reference to one key of an object. A nil one is not set.
func (p Policy) Key(l *finding.List, path *field.Path, kind string, ref *bootstrapv1.FileSourceRef) {
	if ref == nil {
		return
	}
	p.check(l, path, kind, ref.Name, ref.Namespace)
	at := path.Child("key")
	if ref.Key == "" {
		l.Refuse(field.Required(at, "name the key of the "+kind+" that holds the content"))
		return
	}
	if faults := validation.IsConfigMapKey(ref.Key); len(faults) > 0 {
		l.Refuse(field.Invalid(at, ref.Key, "no "+kind+" can have this key: "+strings.Join(faults, "; ")))
	}
}

func (p Policy) check(l *finding.List, path *field.Path, kind, name, namespace string) {
	at := path.Child("name")
	if name == "" {
		l.Refuse(field.Required(at, "name the "+kind+", or take the reference out"))
	} else if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		l.Refuse(field.Invalid(at, name, "no "+kind+" can have this name: "+strings.Join(faults, "; ")))
	}
	if namespace == "" || namespace == p.Namespace {
		return
	}
	at = path.Child("namespace")
	if faults := validation.IsDNS1123Label(namespace); len(faults) > 0 {
		l.Refuse(field.Invalid(at, namespace, "no namespace can have this name: "+strings.Join(faults, "; ")))
		return
	}
	if !p.CrossNamespace {
		l.Refuse(field.Invalid(at, namespace, "a "+kind+" of another namespace is not read, or whoever may create a cluster could read all of them: "+
			"copy it to namespace "+p.Namespace+" and leave this field out, or have the managers started with "+flag))
	}
}
