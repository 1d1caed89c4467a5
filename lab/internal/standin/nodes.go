package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// The annotations by which RKE2 and its member controller talk through Nodes.
const (
	annotationName    = "etcd.rke2.cattle.io/node-name"
	annotationAddress = "etcd.rke2.cattle.io/node-address"
	annotationRemove  = "etcd.rke2.cattle.io/remove"
	annotationRemoved = "etcd.rke2.cattle.io/removed-node-name"
)

// The finalizers that RKE2's controllers keep on every Node.
const (
	finalizerNode = "wrangler.cattle.io/node"
	finalizerEtcd = "wrangler.cattle.io/managed-etcd-controller"
)

// labelControlPlane and labelEtcd mark servers, the second one those with a
// member. Their value is "true".
const (
	labelControlPlane = "node-role.kubernetes.io/control-plane"
	labelEtcd         = "node-role.kubernetes.io/etcd"
)

func isServer(n *corev1.Node) bool { return n.Labels[labelEtcd] == "true" }

// servingSecret is one of the first objects a new cluster has.
const servingSecret = "rke2-serving"

// markNode puts RKE2's labels and annotations on the server's own Node.
func (s *server) markNode(ctx context.Context) error {
	if s.dataAreElsewhere() {
		if err := s.patchNode(ctx, s.name, map[string]any{"labels": map[string]string{labelControlPlane: "true"}}); err != nil {
			return err
		}
		return s.ensureServingSecret(ctx)
	}
	metadata := map[string]any{
		"labels":      map[string]string{labelControlPlane: "true", labelEtcd: "true"},
		"annotations": map[string]any{annotationName: s.pods.MemberName, annotationAddress: s.ip()},
	}
	node, err := s.kube.CoreV1().Nodes().Get(ctx, s.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if gone := node.Annotations[annotationRemoved]; gone != "" && gone != s.pods.MemberName {
		// A node that joined again with a new member forgets the old removal.
		metadata["annotations"] = map[string]any{
			annotationName: s.pods.MemberName, annotationAddress: s.ip(), annotationRemove: nil, annotationRemoved: nil,
		}
	}
	if err := s.patchNode(ctx, s.name, metadata); err != nil {
		return err
	}
	return s.ensureServingSecret(ctx)
}

func (s *server) ensureServingSecret(ctx context.Context) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: servingSecret, Namespace: metav1.NamespaceSystem}}
	_, err := s.kube.CoreV1().Secrets(metav1.NamespaceSystem).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Secret %s: %w", servingSecret, err)
	}
	return nil
}

func (s *server) patchNode(ctx context.Context, name string, metadata map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = s.kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// watchOwnNode takes the static pods down as soon as this server's Node is
// being deleted or its member is to be removed. It does so whether or not the
// member is out of the list: RKE2 does not order the two (pkg/rke2/spc.go).
func (s *server) watchOwnNode(ctx context.Context) {
	source := cache.NewListWatchFromClient(s.kube.CoreV1().RESTClient(), "nodes", "", fields.OneTermEqualSelector("metadata.name", s.name))
	tornDown := false
	look := func(object any) {
		node, ok := object.(*corev1.Node)
		if !ok || tornDown || !mustTearDown(node) {
			return
		}
		tornDown = true
		s.log.Info("taking down the static pods of the control plane", "remove", node.Annotations[annotationRemove], "deleting", node.DeletionTimestamp != nil)
		if err := s.podDir().RemoveAll(); err != nil {
			s.log.Error("take down static pods", "error", err)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source, ObjectType: &corev1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, now any) { look(now) }},
	})
	informer.RunWithContext(ctx)
}

// mustTearDown tells whether a server has to end its control plane. RKE2 is
// strict about the annotation's value here and lax where it removes the member.
func mustTearDown(node *corev1.Node) bool {
	return node.DeletionTimestamp != nil || node.Annotations[annotationRemove] == "true"
}

// removalTimeout is how long RKE2 tries one removal.
const removalTimeout = time.Minute
