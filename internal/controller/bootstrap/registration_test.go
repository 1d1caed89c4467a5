package bootstrap

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// madeWith is the Machine of a server with what is on record about it.
func madeWith(name, registration, serverConfig string, addresses ...clusterv1.MachineAddress) clusterv1.Machine {
	m := clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
		controlplanev1.RegistrationAnnotation: registration, controlplanev1.ServerConfigurationAnnotation: serverConfig,
	}, Labels: map[string]string{clusterv1.MachineControlPlaneLabel: ""}}}
	m.Status.NodeRef.Name = name
	m.Status.Addresses = addresses
	return m
}

func TestHostToJoinThrough(t *testing.T) {
	const address = controlplanev1.RegistrationAddress
	internal := clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: "10.0.0.11"}
	for name, test := range map[string]struct {
		method  controlplanev1.RegistrationMethod
		address string
		own     string
		servers []clusterv1.Machine
		want    string
	}{
		"through the endpoint":                        {want: "10.0.0.1", servers: []clusterv1.Machine{madeWith("a", "control-plane-endpoint", "{}")}},
		"all servers know the new name":               {address, "new", "", []clusterv1.Machine{madeWith("a", "address=new", "{}")}, "new"},
		"one server does not know it yet":             {address, "new", "", []clusterv1.Machine{madeWith("a", "address=new", "{}"), madeWith("b", "address=old", "{}")}, "old"},
		"before, it was the endpoint":                 {address, "new", "", []clusterv1.Machine{madeWith("a", "control-plane-endpoint", "{}")}, "10.0.0.1"},
		"before, it was any server":                   {address, "new", "", []clusterv1.Machine{madeWith("a", "internal-first", "{}", internal)}, "10.0.0.11"},
		"the name is among the user's":                {address, "new", "", []clusterv1.Machine{madeWith("a", "address=old", `{"tlsSan":["new"]}`)}, "new"},
		"the name is the endpoint's":                  {address, "10.0.0.1", "", []clusterv1.Machine{madeWith("a", "address=old", "{}")}, "10.0.0.1"},
		"addresses of servers are always in":          {controlplanev1.RegistrationInternalFirst, "", "", []clusterv1.Machine{madeWith("a", "address=old", "{}")}, "10.0.0.99"},
		"nothing on record of a former server":        {address, "new", "", []clusterv1.Machine{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, "new"},
		"the spec changed after the Machine was made": {address, "newer", "address=new", []clusterv1.Machine{madeWith("a", "address=new", "{}")}, "new"},
		"no other server":                             {address, "new", "", nil, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			machine := madeWith("x", test.own, "{}")
			cp := &controlplanev1.RKE2ControlPlane{}
			cp.Spec.RegistrationMethod, cp.Spec.RegistrationAddress = test.method, test.address
			cp.Status.AvailableServerIPs = []string{"10.0.0.99"}
			cluster := &clusterv1.Cluster{}
			cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.1"
			got, err := registration{
				target: &target{machine: &machine, cluster: cluster}, controlPlane: cp, servers: test.servers,
			}.host()
			if err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}
