package takeover_test

import (
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/secret"
)

// moveTo re-creates the cluster in another namespace the way clusterctl moves
// one to another management cluster: found from the Cluster by owner
// references, by Cluster API's names of Secrets and by the move label; owners
// first, without status, with new identities; the Cluster paused until meanwhile
// has been called. It fails when an object would be left behind.
func (w *world) moveTo(target *world, meanwhile func()) {
	w.Helper()
	w.pause(ptr.To(true))
	objects := w.objects()
	identities := map[types.UID]types.UID{}
	for len(objects) > 0 {
		group := movable(objects, identities)
		w.Expect(group).NotTo(BeEmpty(), "clusterctl would leave behind %v", sortedKeys(objects))
		for _, key := range group {
			was := objects[key]
			identities[was.GetUID()] = target.recreate(was, identities)
			delete(objects, key)
		}
	}
	meanwhile()
	target.pause(nil)
}

// movable are the objects whose owners all have been moved, sorted.
func movable(objects map[string]*unstructured.Unstructured, moved map[types.UID]types.UID) []string {
	var out []string
	for _, key := range sortedKeys(objects) {
		obj := objects[key]
		left := func(ref metav1.OwnerReference) bool { return moved[ref.UID] == "" }
		owned := len(obj.GetOwnerReferences()) > 0 && !slices.ContainsFunc(obj.GetOwnerReferences(), left)
		_, labelled := obj.GetLabels()[clusterctlv1.ClusterctlMoveLabel]
		if key == "Cluster/demo" || owned || labelled || belongsByName(key) && len(obj.GetOwnerReferences()) == 0 {
			out = append(out, key)
		}
	}
	return out
}

// belongsByName tells a Secret that clusterctl takes for the cluster's.
func belongsByName(key string) bool {
	name, isSecret := strings.CutPrefix(key, "Secret/")
	if !isSecret {
		return false
	}
	cluster, _, err := secret.ParseSecretName(name)
	return err == nil && cluster == "demo"
}

func (w *world) recreate(was *unstructured.Unstructured, identities map[types.UID]types.UID) types.UID {
	w.Helper()
	is := was.DeepCopy()
	is.SetNamespace(w.namespace)
	is.SetResourceVersion("")
	is.SetUID("")
	is.SetManagedFields(nil)
	unstructured.RemoveNestedField(is.Object, "status")
	refs := is.GetOwnerReferences()
	for i := range refs {
		refs[i].UID = identities[refs[i].UID]
	}
	is.SetOwnerReferences(refs)
	w.Expect(api.Create(w.ctx, is)).To(Succeed(), is.GetName())
	return is.GetUID()
}
