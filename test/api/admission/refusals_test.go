package admission_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestControlPlaneIsRefused(t *testing.T) {
	namespace := space(t, nil)
	object := func(fields map[string]any) map[string]any { return fields }
	for name, c := range map[string]struct {
		value any
		path  []string
		want  string
	}{
		"no version":        {nil, []string{"version"}, "spec.version: Required value: version is required: set it to the RKE2 release of the servers"},
		"empty version":     {"", []string{"version"}, "spec.version: Required value: version is required"},
		"odd version":       {"v1.35.3", []string{"version"}, `spec.version: Invalid value: "v1.35.3": version must be an RKE2 release`},
		"version with more": {"v1.35.3+rke2r1-latest", []string{"version"}, `spec.version: Invalid value: "v1.35.3+rke2r1-latest": this is not an RKE2 release`},
		"no servers":        {int64(0), []string{"replicas"}, "spec.replicas: Invalid value: 0: replicas must be at least 1"},
		"surge":             {object(map[string]any{"rollingUpdate": map[string]any{"maxSurge": "25%"}}), []string{"rolloutStrategy"}, "maxSurge must be the integer 0 or 1"},
		"surge 0":           {object(map[string]any{"rollingUpdate": map[string]any{"maxSurge": int64(0)}}), []string{"rolloutStrategy"}, "maxSurge 0 needs replicas of at least 3"},
		"kind of rollout":   {"OnDelete", []string{"rolloutStrategy", "type"}, `spec.rolloutStrategy.type: Invalid value: "OnDelete": the type of a rollout must be RollingUpdate`},
		"Multus":            {true, []string{"serverConfig", "cniMultusEnable"}, "cniMultusEnable needs cni"},
		"no address":        {"address", []string{"registrationMethod"}, "registrationAddress is required with registrationMethod address"},
		"other namespace":   {object(map[string]any{"name": "a", "namespace": "other"}), []string{"serverConfig", "auditPolicySecret"}, `spec.serverConfig.auditPolicySecret.namespace: Invalid value: "other": a Secret of another namespace is not read`},
		"registry":          {object(map[string]any{"configs": map[string]any{"r.example": map[string]any{}}}), []string{"privateRegistriesConfig"}, "spec.privateRegistriesConfig.configs[r.example]: Required value: says nothing about the registry"},
	} {
		t.Run(name, func(t *testing.T) {
			cp := parse(t, namespace, controlPlane)
			path := append([]string{"spec"}, c.path...)
			if c.value == nil {
				unstructured.RemoveNestedField(cp.Object, path...)
			} else {
				set(t, cp, c.value, path...)
			}
			refused(t, kube.Create(t.Context(), cp, client.DryRunAll), c.want)
		})
	}
}

func TestChangeIsRefused(t *testing.T) {
	cp := parse(t, space(t, nil), controlPlane)
	if err := kube.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	changed := func(value any, path ...string) error {
		object := cp.DeepCopy()
		set(t, object, value, append([]string{"spec"}, path...)...)
		return kube.Update(t.Context(), object, client.DryRunAll)
	}
	refused(t, changed("v1.37.0+rke2r1", "version"), `spec.version: Invalid value: "v1.37.0+rke2r1": a control plane cannot go from v1.35.3+rke2r1 to v1.37.0+rke2r1 at once`)
	refused(t, changed("v1.34.3+rke2r1", "version"), "a control plane cannot go back from v1.35.3+rke2r1")
	if err := changed("a.example", "serverConfig", "clusterDomain"); err != nil {
		t.Errorf("before the first server has come up: %v", err)
	}

	set(t, cp, true, "status", "initialization", "controlPlaneInitialized")
	if err := kube.Status().Update(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	refused(t, changed("a.example", "serverConfig", "clusterDomain"), `spec.serverConfig.clusterDomain: Invalid value: "a.example": all servers of a cluster have to agree on cluster-domain`)
	if err := changed("v1.36.0+rke2r1", "version"); err != nil {
		t.Error(err)
	}
	if err := changed("internal-first", "registrationMethod"); err != nil {
		t.Error(err)
	}
}

func TestMachinesAreRefused(t *testing.T) {
	namespace := space(t, nil)
	config := parse(t, namespace, machineConfig)
	set(t, config, "proxy.example", "spec", "agentConfig", "proxy", "httpProxy")
	refused(t, kube.Create(t.Context(), config, client.DryRunAll),
		`spec.agentConfig.proxy.httpProxy: Invalid value: "(not shown)": give the URL of a proxy`)

	template := parse(t, namespace, `{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: RKE2ConfigTemplate, metadata: {name: a}}`)
	set(t, template, "proxy.example", "spec", "template", "spec", "agentConfig", "proxy", "httpProxy")
	refused(t, kube.Create(t.Context(), template, client.DryRunAll), "spec.template.spec.agentConfig.proxy.httpProxy")

	servers := parse(t, namespace, `{apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: RKE2ControlPlaneTemplate, metadata: {name: a}}`)
	set(t, servers, "https://join:9345", "spec", "template", "spec", "registrationAddress")
	set(t, servers, "address", "spec", "template", "spec", "registrationMethod")
	refused(t, kube.Create(t.Context(), servers, client.DryRunAll), `spec.template.spec.registrationAddress: Invalid value: "https://join:9345": this is no host`)
}

func TestWarningsArrive(t *testing.T) {
	cp := parse(t, space(t, nil), controlPlane)
	set(t, cp, int64(4), "spec", "replicas")
	set(t, cp, map[string]any{"endpoint": "s3.example.com"}, "spec", "serverConfig", "etcd", "backupConfig", "s3")
	set(t, cp, "image", "spec", "agentConfig", "kubelet", "overrideImage")
	if err := kube.Create(t.Context(), cp); err != nil {
		t.Fatal(err)
	}
	warnings(t,
		"spec.agentConfig.kubelet.overrideImage: has no effect",
		"spec.serverConfig.etcd.backupConfig.s3.enforceSslVerify: is not set, so the certificate of s3.example.com is verified",
		"spec.replicas: 4 servers survive the loss of 1, no more than 3 servers do")
}
