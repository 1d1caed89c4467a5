package scope

import (
	"net"
	"strconv"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RegistrationPort is the port of RKE2's supervisor, where nodes join. It is
// fixed.
const RegistrationPort = 9345

// RegistrationHosts are the hosts that nodes can join through, in order of
// preference and as spec.registrationMethod selects them, without a port.
func (s *Scope) RegistrationHosts() []string {
	switch s.ControlPlane.Spec.RegistrationMethodOrDefault() {
	case controlplanev1.RegistrationAddress:
		return nonEmpty(s.ControlPlane.Spec.RegistrationAddress)
	case controlplanev1.RegistrationControlPlaneEndpoint:
		return nonEmpty(s.Cluster.Spec.ControlPlaneEndpoint.Host)
	default:
		// What is reported here is what joining nodes are told.
		return s.ControlPlane.Status.AvailableServerIPs
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

func nonEmpty(host string) []string {
	if host == "" {
		return nil
	}
	return []string{host}
}
