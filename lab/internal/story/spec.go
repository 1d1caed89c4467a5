package story

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The two releases between which stories upgrade. One kube binary shows both.
const (
	versionOld = "v1.36.3+rke2r1"
	versionNew = "v1.36.3+rke2r2"
)

const namespace = "default"

// controlPlaneKind is the kind of the control plane under test.
var controlPlaneKind = schema.GroupVersionKind{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Kind: "RKE2ControlPlane"}

// Spec is a cluster that a story asks for.
type Spec struct {
	Name             string
	Servers, Workers int
	Version          string
	MaxSurge         int
	// DrainSeconds bounds the drain of a machine.
	DrainSeconds int
	// ControlPlane is the name of the control plane object where it is not the cluster's.
	ControlPlane string
	// Format is that of the bootstrap data, where it is not the default one.
	Format string
	// Hosts are the names of the hosts that servers get, where they are fixed as on bare metal.
	Hosts []any
	// EtcdEnv are variables of etcd's environment.
	EtcdEnv fields
	// Datastore is the name of a Secret with an external datastore, where the servers run no etcd.
	Datastore string
	// Annotations are those of the control plane.
	Annotations map[string]string
}

func (s Spec) planeKey() client.ObjectKey {
	if s.ControlPlane != "" {
		return client.ObjectKey{Namespace: namespace, Name: s.ControlPlane}
	}
	return s.key()
}

type fields = map[string]any

// Objects renders the manifests of the cluster, in an order in which they can be created.
func (s Spec) Objects() []client.Object {
	objects := []client.Object{s.cluster(), s.infraCluster(), s.infraTemplate("servers"), s.controlPlane()}
	if s.Workers > 0 {
		objects = append(objects, s.infraTemplate("workers"), s.workerConfig(), s.workers())
	}
	return objects
}

func (s Spec) object(apiVersion, kind, name string, spec fields) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: fields{
		"apiVersion": apiVersion, "kind": kind,
		"metadata": fields{"name": name, "namespace": namespace}, "spec": spec,
	}}
}

func ref(group, kind, name string) fields {
	return fields{"apiGroup": group, "kind": kind, "name": name}
}

func (s Spec) cluster() client.Object {
	return s.object("cluster.x-k8s.io/v1beta2", "Cluster", s.Name, fields{
		"clusterNetwork": fields{
			"pods":          fields{"cidrBlocks": []any{"10.45.0.0/16"}},
			"services":      fields{"cidrBlocks": []any{"10.46.0.0/16"}},
			"serviceDomain": "cluster.local",
		},
		"controlPlaneRef":   ref(controlPlaneKind.Group, controlPlaneKind.Kind, s.Name),
		"infrastructureRef": ref("infrastructure.cluster.x-k8s.io", "LabCluster", s.Name),
	})
}

func (s Spec) infraCluster() client.Object {
	return s.object("infrastructure.cluster.x-k8s.io/v1beta2", "LabCluster", s.Name, fields{})
}

func (s Spec) infraTemplate(pool string) client.Object {
	spec := fields{}
	if pool == "servers" && len(s.Hosts) > 0 {
		spec["hostnames"] = s.Hosts
	}
	return s.object("infrastructure.cluster.x-k8s.io/v1beta2", "LabMachineTemplate", s.Name+"-"+pool,
		fields{"template": fields{"spec": spec}})
}

func (s Spec) controlPlane() client.Object {
	object := s.object(controlPlaneKind.GroupVersion().String(), controlPlaneKind.Kind, s.Name, fields{
		"replicas": int64(s.Servers), "version": s.Version, "registrationMethod": "control-plane-endpoint",
		"rolloutStrategy": fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxSurge": int64(s.MaxSurge)}},
		"agentConfig":     s.agentConfig(),
		"serverConfig":    s.serverConfig(),
		"machineTemplate": fields{"spec": fields{
			"infrastructureRef": ref("infrastructure.cluster.x-k8s.io", "LabMachineTemplate", s.Name+"-servers"),
			"deletion":          s.deletion(),
		}},
	})
	object.SetAnnotations(s.Annotations)
	return object
}

func (s Spec) serverConfig() fields {
	config := fields{"cni": "none", "disableComponents": fields{"kubernetesComponents": []any{"cloudController"}}}
	if s.Datastore != "" {
		config["externalDatastoreSecret"] = fields{"name": s.Datastore, "namespace": namespace}
	} else {
		config["etcd"] = s.etcd()
	}
	return config
}

func (s Spec) etcd() fields {
	settings := fields{"exposeMetrics": true}
	if len(s.EtcdEnv) > 0 {
		settings["customConfig"] = fields{"extraEnv": s.EtcdEnv}
	}
	return settings
}

// nodeDeletionSeconds is how long Cluster API tries to delete a Node. It counts from the deletion of the Machine, not
// from the Node's turn, so that it has to include the drain: otherwise there is one attempt of ten seconds, and a busy
// API server leaves a Node behind for ever.
const nodeDeletionSeconds = 600

func (s Spec) deletion() fields {
	return fields{
		"nodeDrainTimeoutSeconds": int64(s.DrainSeconds), "nodeVolumeDetachTimeoutSeconds": int64(60),
		"nodeDeletionTimeoutSeconds": int64(nodeDeletionSeconds),
	}
}

func (s Spec) workerConfig() client.Object {
	return s.object("bootstrap.cluster.x-k8s.io/v1beta2", "RKE2ConfigTemplate", s.Name+"-workers",
		fields{"template": fields{"spec": fields{"agentConfig": s.agentConfig()}}})
}

func (s Spec) agentConfig() fields {
	if s.Format == "" {
		return fields{}
	}
	return fields{"format": s.Format}
}

func (s Spec) workers() client.Object {
	return s.object("cluster.x-k8s.io/v1beta2", "MachineDeployment", s.Name+"-workers", fields{
		"clusterName": s.Name, "replicas": int64(s.Workers),
		"selector": fields{"matchLabels": fields{"cluster.x-k8s.io/cluster-name": s.Name}},
		"template": fields{"spec": fields{
			"clusterName": s.Name, "version": s.Version, "deletion": s.deletion(),
			"bootstrap":         fields{"configRef": ref("bootstrap.cluster.x-k8s.io", "RKE2ConfigTemplate", s.Name+"-workers")},
			"infrastructureRef": ref("infrastructure.cluster.x-k8s.io", "LabMachineTemplate", s.Name+"-workers"),
		}},
	})
}
