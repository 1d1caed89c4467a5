package scope

import (
	"net"
	"slices"
	"strconv"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RegistrationPort is the port of RKE2's supervisor, where nodes join. It is
// fixed.
const RegistrationPort = 9345

// RegistrationHosts are the hosts that nodes can join through, in order of
// preference and as spec.registrationMethod selects them, without a port.
// Machines that are being deleted, or are not Ready, are not offered.
func (s *Scope) RegistrationHosts() []string {
	switch method := s.ControlPlane.Spec.RegistrationMethodOrDefault(); method {
	case controlplanev1.RegistrationAddress:
		return nonEmpty(s.ControlPlane.Spec.RegistrationAddress)
	case controlplanev1.RegistrationControlPlaneEndpoint:
		return nonEmpty(s.Cluster.Spec.ControlPlaneEndpoint.Host)
	default:
		return s.machineHosts(method)
	}
}

// RegistrationAddresses are RegistrationHosts with the port.
func (s *Scope) RegistrationAddresses() []string {
	var out []string
	for _, host := range s.RegistrationHosts() {
		out = append(out, net.JoinHostPort(host, strconv.Itoa(RegistrationPort)))
	}
	return out
}

// machineHosts takes one address of each server, oldest server first, so that
// the order is stable while servers come and go.
func (s *Scope) machineHosts(method controlplanev1.RegistrationMethod) []string {
	var hosts []string
	for _, m := range s.Machines.SortedByCreationTimestamp() {
		if !m.DeletionTimestamp.IsZero() || !conditions.IsTrue(m, clusterv1.MachineReadyCondition) {
			continue
		}
		if host := hostOf(m, method); host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func hostOf(m *clusterv1.Machine, method controlplanev1.RegistrationMethod) string {
	internal := addressOf(m, clusterv1.MachineInternalIP)
	external := addressOf(m, clusterv1.MachineExternalIP)
	switch method {
	case controlplanev1.RegistrationInternalOnlyIPs:
		return internal
	case controlplanev1.RegistrationExternalOnlyIPs:
		return external
	default:
		if internal != "" {
			return internal
		}
		return external
	}
}

func addressOf(m *clusterv1.Machine, kind clusterv1.MachineAddressType) string {
	for _, a := range m.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return ""
}

func nonEmpty(host string) []string {
	if host == "" {
		return nil
	}
	return []string{host}
}
