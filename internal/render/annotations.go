package render

import (
	"encoding/json"
	"fmt"
	"strings"
)

// annotate adds the step that sets the annotations of a worker's Node, which RKE2 has no option for. The kubelet's own
// credentials do: Kubernetes lets every node change its own Node object, and no other
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction). The Node's name is
// the one they were made out to, as the machine's may differ. Once is enough: what a worker was made from does not
// change. Servers get theirs from the control plane's controller.
//
// The step comes after the sentinel, since the machine is a node by then. The Node may appear some time after its
// service, and the API server may be out of reach for a while; so it is tried again for some minutes.
func annotate(b *strings.Builder, in *Input) {
	annotations := in.Config.AgentConfig.NodeAnnotations
	if in.Role != Worker || len(annotations) == 0 {
		return
	}
	// Maps of texts always marshal.
	patch, _ := json.Marshal(map[string]map[string]map[string]string{"metadata": {"annotations": annotations}})
	step(b, "annotate the Node")
	fmt.Fprintf(b, `bootstrap_kubectl() {
    %s --kubeconfig=%s --request-timeout=30s "$@"
}
bootstrap_annotate() {
    bootstrap_node=$(bootstrap_kubectl auth whoami --output='jsonpath={.status.userInfo.username}') &&
        bootstrap_kubectl patch node "${bootstrap_node#system:node:}" --type=merge --patch=%s
}
bootstrap_retry 60 5 bootstrap_annotate
`, quote(in.dataPath("bin", "kubectl")), quote(in.dataPath("agent", "kubelet.kubeconfig")), quote(string(patch)))
}
