package desired

import (
	"fmt"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// Registration is how nodes find the servers they join: what the control plane
// asks for, or what a Machine was made with.
//
// On a node it is the entry "server" of RKE2's configuration and, for the
// method address, a name in the server's certificate. RKE2 reads "server" until
// the server has data of its own, so an existing server runs on whatever is
// changed; but it lacks the new name, and nodes that join through it would not
// trust it. The first server has no "server" at all, and with lost data would
// start a second cluster. That is why a change replaces all servers, the first
// one too: afterwards all were made the same way, and none without "server".
type Registration struct {
	// Method is never empty.
	Method controlplanev1.RegistrationMethod
	// Address is set for the method address only: for the others
	// spec.registrationAddress has no effect.
	Address string
}

// RegistrationOf is what the control plane asks for. An empty method means the
// control-plane endpoint.
func RegistrationOf(cp *controlplanev1.RKE2ControlPlane) Registration {
	r := Registration{Method: cp.Spec.RegistrationMethodOrDefault()}
	if r.Method == controlplanev1.RegistrationAddress {
		r.Address = cp.Spec.RegistrationAddress
	}
	return r
}

// RecordedRegistration is what a Machine was made with. The second result is
// false when that is not known, as for a Machine that was taken over.
func RecordedRegistration(m *clusterv1.Machine) (Registration, bool) {
	text := m.Annotations[controlplanev1.RegistrationAnnotation]
	if text == "" {
		return Registration{}, false
	}
	method, address, _ := strings.Cut(text, "=")
	return Registration{Method: controlplanev1.RegistrationMethod(method), Address: address}, true
}

// String is the value of the annotation.
func (r Registration) String() string {
	if r.Address == "" {
		return string(r.Method)
	}
	return string(r.Method) + "=" + r.Address
}

// describe names it for people.
func (r Registration) describe() string {
	if r.Address == "" {
		return string(r.Method)
	}
	return string(r.Method) + " " + r.Address
}

func registrationDiffers(cp *controlplanev1.RKE2ControlPlane, m *clusterv1.Machine) string {
	recorded, known := RecordedRegistration(m)
	wanted := RegistrationOf(cp)
	if !known || recorded == wanted {
		return ""
	}
	return fmt.Sprintf("registration through %s, wanted %s", recorded.describe(), wanted.describe())
}
