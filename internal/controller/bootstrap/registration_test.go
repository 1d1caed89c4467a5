package bootstrap

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/supervisor"
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

// Each method leads to its address, in brackets where it has colons, and not to
// a server that is ill or goes before another one.
func TestURLToJoinThrough(t *testing.T) {
	at := func(kind clusterv1.MachineAddressType, address string) clusterv1.MachineAddress {
		return clusterv1.MachineAddress{Type: kind, Address: address}
	}
	with := func(m clusterv1.Machine, kind string, status metav1.ConditionStatus) clusterv1.Machine {
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: kind, Status: status})
		return m
	}
	const upToDate, member = controlplanev1.MachineUpToDateCondition, controlplanev1.MachineEtcdMemberHealthyCondition
	server := func(name, ip string) clusterv1.Machine {
		return madeWith(name, "control-plane-endpoint", "{}", at(clusterv1.MachineInternalIP, ip), at(clusterv1.MachineExternalIP, "2001:db8::"+name))
	}
	a, b := server("a", "fd00::a"), server("b", "fd00::b")
	for name, test := range map[string]struct {
		method  controlplanev1.RegistrationMethod
		listed  []string
		servers []clusterv1.Machine
		want    string
	}{
		"endpoint":                   {"control-plane-endpoint", nil, nil, "https://[fd00::1]:9345"},
		"default":                    {"", nil, nil, "https://[fd00::1]:9345"},
		"address":                    {"address", nil, nil, "https://[fd00::2]:9345"},
		"internal first":             {"internal-first", []string{"fd00::a", "fd00::b"}, nil, "https://[fd00::a]:9345"},
		"internal only":              {"internal-only-ips", []string{"10.0.0.1"}, nil, "https://10.0.0.1:9345"},
		"external only":              {"external-only-ips", []string{"2001:db8::a"}, nil, "https://[2001:db8::a]:9345"},
		"formerly internal":          {"was internal-first", nil, []clusterv1.Machine{a, b}, "https://[fd00::a]:9345"},
		"formerly external":          {"was external-only-ips", nil, []clusterv1.Machine{a, b}, "https://[2001:db8::a]:9345"},
		"formerly, one goes before":  {"was internal-first", nil, []clusterv1.Machine{with(a, upToDate, "False"), with(b, upToDate, "True")}, "https://[fd00::b]:9345"},
		"formerly, one is ill":       {"was internal-first", nil, []clusterv1.Machine{with(a, member, "False"), with(b, upToDate, "False")}, "https://[fd00::b]:9345"},
		"formerly, one may be ill":   {"was internal-first", nil, []clusterv1.Machine{with(a, member, "Unknown"), b}, "https://[fd00::a]:9345"},
		"formerly, the one that has": {"was internal-only-ips", nil, []clusterv1.Machine{madeWith("c", "", "{}"), b}, "https://[fd00::b]:9345"},
	} {
		cp := &controlplanev1.RKE2ControlPlane{}
		cp.Spec.RegistrationMethod, cp.Spec.RegistrationAddress = test.method, "fd00::2"
		machine := madeWith("x", "", "{}")
		if former, was := strings.CutPrefix(string(test.method), "was "); was {
			// The Machine was made under another method than the spec has now.
			cp.Spec.RegistrationMethod = ""
			machine.Annotations[controlplanev1.RegistrationAnnotation] = former
			machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: controlplanev1.GroupVersion.String(), Kind: controlPlaneKind}}
		}
		cp.Status.AvailableServerIPs = test.listed
		cluster := &clusterv1.Cluster{}
		cluster.Spec.ControlPlaneEndpoint.Host = "fd00::1"
		host, err := registration{target: &target{machine: &machine, cluster: cluster}, controlPlane: cp, servers: test.servers}.host()
		if got := supervisor.URL(host); err != nil || got != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

// With all servers gone and the data in an external datastore the next one comes up from there, whatever the method: an
// endpoint without servers behind it would not answer either. With etcd inside it would start a second, empty cluster.
func TestServerThatNobodyIsLeftToJoin(t *testing.T) {
	for _, method := range []controlplanev1.RegistrationMethod{controlplanev1.RegistrationControlPlaneEndpoint, controlplanev1.RegistrationInternalFirst} {
		w := newWorld(t)
		datastore := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "datastore"}, StringData: map[string]string{"endpoint": "postgres://db"}}
		w.Expect(api.Create(w.ctx, datastore)).To(Succeed())
		w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
			cp.Spec.RegistrationMethod = method
			cp.Spec.ServerConfig.ExternalDatastoreSecret = &corev1.ObjectReference{Namespace: w.namespace, Name: "datastore"}
		})
		w.provision()
		w.secrets()
		w.initialize()
		w.server("cp-4", nil)
		secret := w.hasData("cp-4")
		w.Expect(nodeConfig(w, secret)).NotTo(HaveKey("server"))
		w.Expect(nodeConfig(w, secret)).To(HaveKeyWithValue("datastore-endpoint", "postgres://db"))
		w.Expect(filesOf(w, secret)).To(HaveKey("/var/lib/rancher/rke2/server/tls/server-ca.crt"), "the authorities are those in the datastore")
		w.Expect(apierrors.IsNotFound(api.Get(w.ctx, w.key("demo-lock"), &corev1.ConfigMap{}))).To(BeTrue(), "the lock is of clusters that are not initialized")
	}
}

func TestHasServer(t *testing.T) {
	gone := madeWith("b", "", "{}")
	gone.DeletionTimestamp = ptr.To(metav1.Now())
	booting := madeWith("c", "", "{}")
	booting.Status.NodeRef.Name = ""
	for name, test := range map[string]struct {
		method  controlplanev1.RegistrationMethod
		listed  []string
		servers []clusterv1.Machine
		want    bool
	}{
		"one that stays":                    {"", nil, []clusterv1.Machine{madeWith("a", "", "{}")}, true},
		"one that leaves":                   {"", nil, []clusterv1.Machine{gone}, false},
		"one that has not joined":           {"", nil, []clusterv1.Machine{booting}, false},
		"one that stays, and is listed":     {"internal-first", []string{"10.0.0.1"}, []clusterv1.Machine{madeWith("a", "", "{}")}, true},
		"one that stays, and is not listed": {"internal-first", nil, []clusterv1.Machine{madeWith("a", "", "{}")}, false},
	} {
		cp := &controlplanev1.RKE2ControlPlane{}
		cp.Spec.RegistrationMethod, cp.Status.AvailableServerIPs = test.method, test.listed
		machine := madeWith("x", "", "{}")
		cluster := &clusterv1.Cluster{}
		cluster.Spec.ControlPlaneEndpoint.Host = "10.0.0.9"
		join := registration{target: &target{machine: &machine, cluster: cluster}, controlPlane: cp, servers: test.servers}
		if got := join.hasServer(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
