package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/api/crds"
)

// Kinds are the kinds that a lab will serve besides Kubernetes' own.
type Kinds map[schema.GroupVersionKind]struct{}

// KnownKinds reads which kinds the lab itself and the providers in these
// folders bring. Kubernetes' own kinds are known too.
func KnownKinds(providerDirs ...string) (Kinds, error) {
	kinds := Kinds{}
	if err := kinds.read(crds.Files, "*.yaml"); err != nil {
		return kinds, err
	}
	for _, dir := range providerDirs {
		if err := kinds.read(os.DirFS(dir), "crds/*.yaml"); err != nil {
			return kinds, fmt.Errorf("kinds of the provider in %s: %w", dir, err)
		}
	}
	return kinds, nil
}

// outline is what matters of a CustomResourceDefinition here; reading all of
// its schema would take long.
type outline struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
		} `json:"versions"`
	} `json:"spec"`
}

func (k Kinds) read(files fs.FS, pattern string) error {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return fmt.Errorf("read kinds: %w", err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read kinds: %w", err)
		}
		var crd outline
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return fmt.Errorf("read kind in %s: %w", name, err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Served {
				kind := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
				k[kind] = struct{}{}
			}
		}
	}
	return nil
}

// Check returns an error that lists every object of an unknown kind and, once,
// the kinds that are known.
func (k Kinds) Check(objects []Object) error {
	var faults []error
	for _, o := range objects {
		kind := o.GroupVersionKind()
		if _, ok := k[kind]; ok || clientgoscheme.Scheme.Recognizes(kind) {
			continue
		}
		faults = append(faults, fmt.Errorf("%s: the lab does not know the kind %s of %s%s", o, kind.Kind, o.GetAPIVersion(), k.hint(kind)))
	}
	if len(faults) == 0 {
		return nil
	}
	return errors.Join(append(faults, fmt.Errorf("known kinds besides Kubernetes' own: %s", k))...)
}

// hint names versions of the same kind, the most likely slip.
func (k Kinds) hint(wanted schema.GroupVersionKind) string {
	var same []string
	for kind := range k {
		if kind.Kind == wanted.Kind {
			same = append(same, kind.GroupVersion().String())
		}
	}
	if len(same) == 0 {
		return ""
	}
	slices.Sort(same)
	return "; it knows it as " + strings.Join(same, ", ")
}

// String lists the kinds with their groups.
func (k Kinds) String() string {
	names := map[string]bool{}
	for kind := range k {
		names[kind.Kind+"."+kind.Group] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
