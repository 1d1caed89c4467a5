package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/report"
	"github.com/drover-project/drover/internal/world/desired"
)

// otherServers are the Machines of the cluster's servers except for the target's own, sorted by name. They are read
// live: one that was missed could have started the cluster.
func (r *Reconciler) otherServers(ctx context.Context, t *target) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	err := r.APIReader.List(ctx, list, client.InNamespace(t.cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: t.cluster.Name}, client.HasLabels{clusterv1.MachineControlPlaneLabel})
	if err != nil {
		return nil, fmt.Errorf("list the servers of Cluster %s: %w", t.clusterKey(), err)
	}
	servers := slices.DeleteFunc(list.Items, func(m clusterv1.Machine) bool { return t.machine != nil && m.Name == t.machine.Name })
	slices.SortFunc(servers, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return servers, nil
}

// registration finds the host a machine joins through.
type registration struct {
	*target
	controlPlane *controlplanev1.RKE2ControlPlane
	// servers are the other servers.
	servers []clusterv1.Machine
}

// wanted is what the machine is to join through: for a server what its Machine was made with, which is what it is
// compared with later; else what the control plane asks for.
func (r registration) wanted() desired.Registration {
	if r.isServer() {
		if recorded, known := desired.RecordedRegistration(r.machine); known {
			return recorded
		}
	}
	return desired.RegistrationOf(r.controlPlane)
}

// host is the host the machine joins through. While a change of the method reaches the servers one after the other,
// that is the former one until all of them have the new name in their certificates: a joining node does not trust a
// server whose certificate lacks the name it called.
func (r registration) host() (string, error) {
	wanted := r.wanted()
	for i := range r.servers {
		if former, known := desired.RecordedRegistration(&r.servers[i]); known && !r.certified(&r.servers[i], wanted) {
			return r.through(former)
		}
	}
	return r.through(wanted)
}

// hasServer tells whether there is a server that the machine can join through. With an external datastore it does not
// need one: RKE2, as K3s (https://docs.k3s.io/datastore/ha), then takes the cluster's certificates out of the datastore.
func (r registration) hasServer() bool {
	_, err := r.host()
	return err == nil && slices.ContainsFunc(r.servers, func(m clusterv1.Machine) bool {
		return m.Status.NodeRef.IsDefined() && m.DeletionTimestamp.IsZero()
	})
}

// certified tells whether a server has the name in its certificate that nodes call with this method. The name of the
// endpoint and the addresses of servers themselves always are.
func (r registration) certified(server *clusterv1.Machine, wanted desired.Registration) bool {
	if wanted.Method != controlplanev1.RegistrationAddress || wanted.Address == r.cluster.Spec.ControlPlaneEndpoint.Host {
		return true
	}
	if recorded, _ := desired.RecordedRegistration(server); recorded == wanted {
		return true
	}
	config, known := desired.RecordedServerConfig(server)
	return known && slices.Contains(config.TLSSan, wanted.Address)
}

// through returns the host that a method leads to. Where it is a server's own address, only servers count that the
// control plane lists (those alive and not leaving) or, after the method was changed, that have a Node
// and no member known to be ill.
func (r registration) through(method desired.Registration) (string, error) {
	switch method.Method {
	case controlplanev1.RegistrationControlPlaneEndpoint:
		if host := r.cluster.Spec.ControlPlaneEndpoint.Host; host != "" {
			return host, nil
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"waiting for Cluster %s to have a control-plane endpoint", r.cluster.Name)
	case controlplanev1.RegistrationAddress:
		if method.Address != "" {
			return method.Address, nil
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"RKE2ControlPlane %s: registrationMethod is address, but registrationAddress is empty", r.controlPlane.Name)
	default:
		if r.joined != "" && r.stillServes(method, r.joined) {
			return r.joined, nil
		}
		for _, address := range r.serverAddresses(method) {
			if address != "" && !r.hasAddress(address) {
				return address, nil
			}
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"waiting for RKE2ControlPlane %s to list a server that can be joined through (status.availableServerIPs, "+
				"registrationMethod %s)", r.controlPlane.Name, method.Method)
	}
}

func (r registration) serverAddresses(method desired.Registration) []string {
	if method == desired.RegistrationOf(r.controlPlane) {
		return r.controlPlane.Status.AvailableServerIPs
	}
	servers := slices.DeleteFunc(slices.Clone(r.servers), func(m clusterv1.Machine) bool {
		return !m.Status.NodeRef.IsDefined() || !m.DeletionTimestamp.IsZero() || conditions.IsFalse(&m, controlplanev1.MachineEtcdMemberHealthyCondition)
	})
	// One that is not up to date goes before the others.
	slices.SortStableFunc(servers, func(a, b clusterv1.Machine) int {
		goes := func(m clusterv1.Machine) int {
			return map[bool]int{true: 1}[conditions.IsFalse(&m, controlplanev1.MachineUpToDateCondition)]
		}
		return cmp.Compare(goes(a), goes(b))
	})
	var out []string
	for i := range servers {
		out = append(out, report.AddressFor(&servers[i], method.Method))
	}
	return out
}

// stillServes tells whether a pool may go on joining through an address of a server. Other data have infrastructure
// providers replace machines, so it may as long as a server that stays has the address: the control plane lists only
// servers that are well, and one that is not for a moment is no reason.
func (r registration) stillServes(method desired.Registration, address string) bool {
	return slices.Contains(r.serverAddresses(method), address) ||
		slices.ContainsFunc(r.servers, func(m clusterv1.Machine) bool {
			return m.DeletionTimestamp.IsZero() && report.AddressFor(&m, method.Method) == address
		})
}

// hasAddress tells whether an address is the Machine's own.
func (t *target) hasAddress(address string) bool {
	return t.machine != nil && slices.ContainsFunc(t.machine.Status.Addresses, func(a clusterv1.MachineAddress) bool {
		return a.Address == address
	})
}
