package infra

import (
	"bytes"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/drover-project/drover/lab/internal/machine"
)

// excluded are the machines whose Nodes carry the label that keeps them out of
// external load balancers, by provider id and by address.
type excluded map[string]bool

func (e excluded) has(info machine.Info) bool { return e[info.ProviderID] || e[info.IP.String()] }

// nodeWatch follows the Nodes of one cluster, through its load balancer, as a
// cloud controller does.
type nodeWatch struct {
	kubeconfig []byte
	end        chan struct{}
	changed    func()

	mu     sync.Mutex
	byNode map[string]excluded
	// before holds until the first list of Nodes is complete.
	before excluded
}

func startNodeWatch(kubeconfig []byte, before excluded, changed func()) (*nodeWatch, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use kubeconfig: %w", err)
	}
	w := &nodeWatch{kubeconfig: bytes.Clone(kubeconfig), end: make(chan struct{}), changed: changed, byNode: map[string]excluded{}, before: before}
	nodes := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "nodes", "", fields.Everything())
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: nodes, ObjectType: &corev1.Node{}, Transform: shrink,
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { w.note(object, false) },
			UpdateFunc: func(_, object any) { w.note(object, false) },
			DeleteFunc: func(object any) { w.note(object, true) },
		},
	})
	go informer.Run(w.end)
	go func() {
		if cache.WaitForCacheSync(w.end, informer.HasSynced) {
			w.forget()
		}
	}()
	return w, nil
}

// shrink drops the large parts of a Node that nobody looks at.
func shrink(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields, node.Status.Images, node.Status.Conditions = nil, nil, nil
	}
	return object, nil
}

func (w *nodeWatch) stop() { close(w.end) }

func (w *nodeWatch) uses(kubeconfig []byte) bool { return bytes.Equal(w.kubeconfig, kubeconfig) }

func (w *nodeWatch) note(object any, gone bool) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	now := excluded{}
	if _, labelled := node.Labels[corev1.LabelNodeExcludeBalancers]; labelled && !gone {
		now = identities(node)
	}
	w.mu.Lock()
	same := maps.Equal(w.byNode[node.Name], now)
	w.byNode[node.Name] = now
	w.mu.Unlock()
	if !same {
		w.changed()
	}
}

func identities(node *corev1.Node) excluded {
	out := excluded{}
	if node.Spec.ProviderID != "" {
		out[node.Spec.ProviderID] = true
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			out[address.Address] = true
		}
	}
	return out
}

func (w *nodeWatch) forget() {
	w.mu.Lock()
	some := len(w.before) > 0
	w.before = nil
	w.mu.Unlock()
	if some {
		w.changed()
	}
}

func (w *nodeWatch) excluded() excluded {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := excluded{}
	maps.Copy(out, w.before)
	for _, node := range w.byNode {
		maps.Copy(out, node)
	}
	return out
}
