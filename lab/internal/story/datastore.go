package story

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/paths"
)

// datastoreName is what everything of the external datastore is called.
const datastoreName = "datastore"

// datastoreScript is the bootstrap of a host that is nothing but a datastore: one etcd, which lives on when cloud-init ends.
const datastoreScript = `#cloud-config
runcmd:
- mkdir -p /var/lib/datastore
- setsid ` + paths.KubeBinary + ` etcd --name=datastore --data-dir=/var/lib/datastore --listen-client-urls=http://0.0.0.0:2379
  --advertise-client-urls=http://127.0.0.1:2379 --log-level=warn </dev/null >/var/log/datastore.log 2>&1 &
`

// startDatastore makes a host with an etcd outside of every cluster that Drover knows, and the Secret by which a control
// plane is told of it. The host is the only machine of a Cluster without a control plane.
func (r *Run) startDatastore(ctx context.Context) error {
	r.Note("starting a datastore on a host of its own")
	where := Spec{Name: datastoreName}
	key := metav1.ObjectMeta{Namespace: namespace, Name: datastoreName}
	cluster := &clusterv1.Cluster{ObjectMeta: key}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: labMachineKind.Group, Kind: "LabCluster", Name: datastoreName}
	machine := &clusterv1.Machine{ObjectMeta: key, Spec: clusterv1.MachineSpec{
		ClusterName:       datastoreName,
		Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To(datastoreName)},
		InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: labMachineKind.Group, Kind: "LabMachine", Name: datastoreName},
	}}
	script := &corev1.Secret{ObjectMeta: key, Type: clusterv1.ClusterSecretType, StringData: map[string]string{"value": datastoreScript, "format": "cloud-config"}}
	host := where.object(labMachineKind.GroupVersion().String(), "LabMachine", datastoreName, fields{})
	for _, o := range []client.Object{cluster, where.infraCluster(), script, host, machine} {
		if err := r.Management.Create(ctx, o); err != nil {
			return fmt.Errorf("create %T %s: %w", o, o.GetName(), err)
		}
	}
	address := ""
	if err := r.WaitFor(ctx, "the datastore's host", patience, func(ctx context.Context) (bool, string, error) {
		if err := r.Management.Get(ctx, client.ObjectKeyFromObject(machine), machine); err != nil {
			return false, "", err
		}
		for _, a := range machine.Status.Addresses {
			if a.Type == clusterv1.MachineInternalIP {
				address = a.Address
			}
		}
		return address != "", "it has no address", nil
	}); err != nil {
		return err
	}
	endpoint := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: datastoreName + "-endpoint"},
		StringData: map[string]string{"endpoint": "http://" + address + ":2379"},
	}
	if err := r.Management.Create(ctx, endpoint); err != nil {
		return fmt.Errorf("create Secret %s: %w", endpoint.Name, err)
	}
	return nil
}
