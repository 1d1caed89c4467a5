package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// lockKey is the key of the lock's ConfigMap that names the holder.
const lockKey = "lock-information"

// lockInformation is the value under lockKey, in JSON form.
type lockInformation struct {
	// MachineName is the Machine that may become the first server.
	MachineName string `json:"machineName"`
}

// lock makes sure that at most one machine is told to start the cluster: two would start two clusters. It returns a
// *wait while another Machine may. Everything here is read live, since a stale "not initialized" would let a second
// machine through after the lock of the first is gone.
func (r *Reconciler) lock(ctx context.Context, t *target) error {
	cluster := &clusterv1.Cluster{}
	if err := r.APIReader.Get(ctx, t.clusterKey(), cluster); err != nil {
		return fmt.Errorf("get Cluster %s: %w", t.clusterKey(), err)
	}
	if initialized(cluster) {
		return waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"Cluster %s was just initialized; joining it next", cluster.Name).lookAgain()
	}
	wanted, err := newLock(cluster, t.machine.Name)
	if err != nil {
		return err
	}
	found := &corev1.ConfigMap{}
	err = r.APIReader.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Client.Create(ctx, wanted); err != nil {
			return lockTaken(wanted, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("get ConfigMap %s/%s: %w", wanted.Namespace, wanted.Name, err)
	}
	holder := holderOf(found)
	if holder == t.machine.Name {
		return nil
	}
	if alive, err := r.machineExists(ctx, cluster.Namespace, holder); err != nil {
		return err
	} else if alive {
		return waitFor(bootstrapv1.WaitingForControlPlaneInitializedReason,
			"waiting for Machine %s, which is to become the first server of Cluster %s", holder, cluster.Name)
	}
	// The holder is gone. The update carries the resource version, so only one of several Machines takes over.
	found.Data = wanted.Data
	if err := r.Client.Update(ctx, found); err != nil {
		return lockTaken(wanted, err)
	}
	return nil
}

// lockTaken turns the answers that mean "another was faster" into a wait.
func lockTaken(lock *corev1.ConfigMap, err error) error {
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return waitFor(bootstrapv1.WaitingForControlPlaneInitializedReason,
			"another Machine is taking the lock %s", lock.Name).lookAgain()
	}
	return fmt.Errorf("write ConfigMap %s/%s: %w", lock.Namespace, lock.Name, err)
}

// machineExists tells whether there is a Machine of that name, be it deleting or not: while it is deleting, its server
// may still run.
func (r *Reconciler) machineExists(ctx context.Context, namespace, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	err := r.APIReader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &clusterv1.Machine{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Machine %s/%s: %w", namespace, name, err)
	}
	return true, nil
}

// unlock removes the lock of an initialized cluster.
func (r *Reconciler) unlock(ctx context.Context, cluster client.ObjectKey) error {
	lock := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster.Namespace, Name: secrets.Names(cluster.Name).InitLock,
	}}
	if err := r.Client.Delete(ctx, lock); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ConfigMap %s/%s: %w", lock.Namespace, lock.Name, err)
	}
	return nil
}

func newLock(cluster *clusterv1.Cluster, machine string) (*corev1.ConfigMap, error) {
	information, err := json.Marshal(lockInformation{MachineName: machine})
	if err != nil {
		return nil, fmt.Errorf("marshal the lock of Cluster %s: %w", cluster.Name, err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace,
			Name:      secrets.Names(cluster.Name).InitLock,
			Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID,
			}},
		},
		Data: map[string]string{lockKey: string(information)},
	}, nil
}

// holderOf returns the name of the Machine that holds the lock; empty when the lock cannot be read, which leaves it to
// be taken over.
func holderOf(lock *corev1.ConfigMap) string {
	var information lockInformation
	if err := json.Unmarshal([]byte(lock.Data[lockKey]), &information); err != nil {
		return ""
	}
	return information.MachineName
}
