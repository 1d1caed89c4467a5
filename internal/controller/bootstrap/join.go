package bootstrap

import (
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// joinAddress returns the host the machine joins through. Where it is a server's own address, only servers count that
// the control plane lists: those alive and not leaving.
func joinAddress(t *target, controlPlane *controlplanev1.RKE2ControlPlane) (string, error) {
	switch method := controlPlane.Spec.RegistrationMethodOrDefault(); method {
	case controlplanev1.RegistrationControlPlaneEndpoint:
		if host := t.cluster.Spec.ControlPlaneEndpoint.Host; host != "" {
			return host, nil
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"waiting for Cluster %s to have a control-plane endpoint", t.cluster.Name)
	case controlplanev1.RegistrationAddress:
		if controlPlane.Spec.RegistrationAddress != "" {
			return controlPlane.Spec.RegistrationAddress, nil
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"RKE2ControlPlane %s: registrationMethod is address, but registrationAddress is empty", controlPlane.Name)
	default:
		for _, address := range controlPlane.Status.AvailableServerIPs {
			if address != "" && !hasAddress(t.machine, address) {
				return address, nil
			}
		}
		return "", waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"waiting for RKE2ControlPlane %s to list a server that can be joined through (status.availableServerIPs, "+
				"registrationMethod %s)", controlPlane.Name, method)
	}
}

// hasAddress tells whether an address is the machine's own.
func hasAddress(machine *clusterv1.Machine, address string) bool {
	return slices.ContainsFunc(machine.Status.Addresses, func(a clusterv1.MachineAddress) bool {
		return a.Address == address
	})
}
