package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// stored returns the spec of an object as the API server has it.
func stored(t *testing.T, object client.Object) string {
	t.Helper()
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(object), found); err != nil {
		t.Fatal(err)
	}
	return text(t, found.Object["spec"])
}

func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fromYAML writes a value of YAML the way stored does.
func fromYAML(t *testing.T, document string) string {
	t.Helper()
	var value any
	if err := yaml.UnmarshalStrict([]byte(document), &value); err != nil {
		t.Fatal(err)
	}
	return text(t, value)
}

// defaulted is the spec of controlPlane, and of what says the same in v1beta1, as
// it is stored.
const defaulted = `
agentConfig: {format: cloud-config}
machineTemplate:
  spec:
    deletion: {nodeDrainTimeoutSeconds: 120, nodeVolumeDetachTimeoutSeconds: 300, nodeDeletionTimeoutSeconds: 10}
    infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: servers}
replicas: 1
rolloutStrategy: {type: RollingUpdate}
version: v1.35.3+rke2r1
`

func TestDefaultsAreStored(t *testing.T) {
	for name, c := range map[string]struct{ manifest, want string }{
		"control plane": {controlPlane, defaulted},
		"config":        {machineConfig, `{agentConfig: {format: cloud-config}}`},
		"config without a spec": {`
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: RKE2Config
metadata: {name: config}
`, `{agentConfig: {format: cloud-config}}`},
		"config template without a spec": {`
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: RKE2ConfigTemplate
metadata: {name: template}
`, `{template: {spec: {agentConfig: {format: cloud-config}}}}`},
		"control plane template": {`
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: RKE2ControlPlaneTemplate
metadata: {name: template}
spec: {template: {spec: {rolloutStrategy: {rollingUpdate: {maxSurge: 0}}}}}
`, `{template: {spec: {agentConfig: {format: cloud-config}, rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, space(t, nil), c.manifest)
			if err := kube.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fromYAML(t, c.want), stored(t, object)); diff != "" {
				t.Errorf("(- want, + stored):\n%s", diff)
			}
			warnings(t)
		})
	}
}

// full has many forms that a program would write otherwise: durations in
// minutes, empty maps and lists, values that are the default.
const full = `
agentConfig:
  format: ignition
  nodeLabels: []
  kubelet: {extraArgs: [v=2], extraEnv: {}}
  additionalUserData: {config: "variant: fcos\nversion: 1.4.0\n", strict: false}
  airGapped: false
files:
- {path: /etc/a, content: "", permissions: "0600"}
gzipUserData: false
machineTemplate:
  metadata: {labels: {team: blue}}
  spec:
    deletion: {nodeDrainTimeoutSeconds: 0, nodeVolumeDetachTimeoutSeconds: 0, nodeDeletionTimeoutSeconds: 0}
    infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: LabMachineTemplate, name: servers}
manifestsConfigMapReference: {name: manifests}
preRKE2Commands: []
privateRegistriesConfig:
  configs: {registry.example.com: {authSecret: {apiVersion: v1, kind: Secret, name: login}, tls: {insecureSkipVerify: false}}}
  mirrors: {docker.io: {endpoint: ["https://mirror.example.com"]}}
registrationMethod: ""
remediationStrategy: {maxRetry: 0, minHealthyPeriod: 90m, retryPeriod: 20m}
replicas: 3
rolloutStrategy: {rollingUpdate: {maxSurge: 1}, type: RollingUpdate}
serverConfig:
  cni: calico
  disableComponents: {kubernetesComponents: [], pluginComponents: [rke2-ingress-nginx]}
  etcd: {backupConfig: {retention: "10", scheduleCron: "*/15 * * * *"}, exposeMetrics: false}
  tlsSan: [a.example]
version: v1.35.3+rke2r1
`

func TestWhatWasAppliedIsStoredAsItIs(t *testing.T) {
	object := parse(t, space(t, nil), controlPlane)
	var spec any
	if err := yaml.UnmarshalStrict([]byte(full), &spec); err != nil {
		t.Fatal(err)
	}
	object.Object["spec"] = spec
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML(t, full), stored(t, object)); diff != "" {
		t.Errorf("created (- applied, + stored):\n%s", diff)
	}
	object.SetLabels(map[string]string{"team": "blue"})
	if err := kube.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML(t, full), stored(t, object)); diff != "" {
		t.Errorf("changed (- applied, + stored):\n%s", diff)
	}
	if object.GetGeneration() != 1 {
		t.Errorf("a label made generation %d of the spec", object.GetGeneration())
	}
}

// An older version of the API is defaulted and checked as well.
func TestOlderVersion(t *testing.T) {
	object := oldControlPlane(space(t, nil))
	if err := kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	warnings(t)
	object.SetAPIVersion("controlplane.cluster.x-k8s.io/v1beta2")
	want := fromYAML(t, defaulted)
	if diff := cmp.Diff(want, stored(t, object)); diff != "" {
		t.Errorf("(- want, + stored):\n%s", diff)
	}

	wrong := oldControlPlane(object.GetNamespace())
	wrong.SetName("wrong")
	set(t, wrong, "address", "spec", "registrationMethod")
	refused(t, kube.Create(t.Context(), wrong), "spec.registrationAddress: Required value: registrationAddress is required with registrationMethod address")
}
