package incumbent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// registrationPort is where servers let others join.
const registrationPort = 9345

// known are the parts of serverConfig and agentConfig that this package can turn into settings.
var known = []string{"cni", "disableComponents", "etcd", "tlsSan", "format"}

// settings returns the content of config.yaml for a server. The first one has no server to join.
func (b *builder) settings(join bool) (map[string]any, error) {
	config, _, err := unstructured.NestedMap(b.plane.Object, "spec", "serverConfig")
	if err != nil {
		return nil, fmt.Errorf("read spec.serverConfig: %w", err)
	}
	agentConfig, _, err := unstructured.NestedMap(b.plane.Object, "spec", "agentConfig")
	if err != nil {
		return nil, fmt.Errorf("read spec.agentConfig: %w", err)
	}
	for _, key := range append(slices.Collect(maps.Keys(config)), slices.Collect(maps.Keys(agentConfig))...) {
		if !slices.Contains(known, key) {
			return nil, fmt.Errorf("%s is a setting that the lab's incumbent does not know: leave it out", key)
		}
	}
	host := b.cluster.Spec.ControlPlaneEndpoint.Host
	out := map[string]any{
		"token": b.token, "tls-san": append(stringsAt(config, "tlsSan"), host),
		"cluster-cidr": b.cluster.Spec.ClusterNetwork.Pods.String(), "service-cidr": b.cluster.Spec.ClusterNetwork.Services.String(),
	}
	if cni, _, _ := unstructured.NestedString(config, "cni"); cni != "" {
		out["cni"] = []string{cni}
	}
	if slices.Contains(stringsAt(config, "disableComponents", "kubernetesComponents"), "cloudController") {
		out["disable-cloud-controller"] = true
	}
	if expose, _, _ := unstructured.NestedBool(config, "etcd", "exposeMetrics"); expose {
		out["etcd-expose-metrics"] = true
	}
	if join {
		out["server"] = joinAddress(b.cluster)
	}
	return out, nil
}

// workerSettings returns the content of config.yaml for a worker.
func (b *builder) workerSettings() map[string]any {
	return map[string]any{"token": b.token, "server": joinAddress(b.cluster)}
}

func joinAddress(cluster *clusterv1.Cluster) string {
	return fmt.Sprintf("https://%s:%d", cluster.Spec.ControlPlaneEndpoint.Host, registrationPort)
}

func stringsAt(object map[string]any, path ...string) []string {
	list, _, _ := unstructured.NestedStringSlice(object, path...)
	return list
}

// recordedConfiguration is the value of the annotation on a Machine. The incumbent writes the fields in the order of
// its types, and parts of which nothing is set as empty objects, so the text is not that of the stored spec.
func recordedConfiguration(plane *unstructured.Unstructured) (string, error) {
	config, _, err := unstructured.NestedMap(plane.Object, "spec", "serverConfig")
	if err != nil {
		return "", fmt.Errorf("read spec.serverConfig: %w", err)
	}
	type etcd struct {
		ExposeMetrics any            `json:"exposeMetrics,omitempty"`
		BackupConfig  map[string]any `json:"backupConfig"`
	}
	recorded := struct {
		TLSSan            any  `json:"tlsSan,omitempty"`
		DisableComponents any  `json:"disableComponents"`
		CNI               any  `json:"cni,omitempty"`
		Etcd              etcd `json:"etcd"`
	}{
		TLSSan: config["tlsSan"], CNI: config["cni"], DisableComponents: config["disableComponents"],
		Etcd: etcd{BackupConfig: map[string]any{}},
	}
	if part, ok := config["etcd"].(map[string]any); ok {
		recorded.Etcd.ExposeMetrics = part["exposeMetrics"]
	}
	if recorded.DisableComponents == nil {
		recorded.DisableComponents = map[string]any{}
	}
	text, err := json.Marshal(recorded)
	if err != nil {
		return "", fmt.Errorf("record the server configuration: %w", err)
	}
	return string(text), nil
}
