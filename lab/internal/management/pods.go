package management

import (
	"crypto/x509/pkix"
	"fmt"
	"net/netip"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ServiceAddress is where pods find the API server, on port 443: the cluster
// address of the Service kubernetes. Whoever runs nodes makes it answer there.
var ServiceAddress = netip.AddrFrom4([4]byte{10, 96, 0, 1})

// apiServerFlags are what a cluster that runs pods needs beside the flags of
// every one, and what one without pods leaves out.
func (p *Plane) apiServerFlags() []string {
	if !p.config.Pods {
		return []string{
			"--authorization-mode=RBAC",
			// There is no controller that would make service accounts' default objects.
			"--disable-admission-plugins=ServiceAccount",
		}
	}
	certs := p.dir("kubelet-client")
	args := []string{
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		// A webhook behind a Service is called at its pod's own address: nobody here routes Services' addresses.
		"--enable-aggregator-routing=true",
		"--kubelet-client-certificate=" + filepath.Join(certs, "tls.crt"), "--kubelet-client-key=" + filepath.Join(certs, "tls.key"),
		"--kubelet-preferred-address-types=InternalIP",
	}
	if p.config.OnlyRoot {
		args = append(args, "--disable-admission-plugins=PodSecurity")
	}
	return args
}

// controllers are the programs that nobody waits for.
func (p *Plane) controllers() []*program {
	if !p.config.Pods {
		// It only cleans up behind deleted owners and namespaces.
		return []*program{p.controllerManager("--controllers=garbage-collector-controller,namespace-controller")}
	}
	key := filepath.Join(p.dir("kube-apiserver"), "tls.key")
	return []*program{
		p.controllerManager("--service-account-private-key-file="+key, "--root-ca-file="+p.caFile()),
		p.kube("kube-scheduler", "--kubeconfig="+p.place.Kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1"),
	}
}

func (p *Plane) controllerManager(args ...string) *program {
	return p.kube("kube-controller-manager", append([]string{
		"--kubeconfig=" + p.place.Kubeconfig(),
		"--leader-elect=false", "--bind-address=127.0.0.1", "--flex-volume-plugin-dir=" + p.dir("flex"),
	}, args...)...)
}

// writeKubeletClient writes the certificate with which the API server asks
// kubelets for logs.
func (p *Plane) writeKubeletClient() error {
	client, err := p.authority.issue(pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}})
	if err != nil {
		return err
	}
	return client.write(p.dir("kubelet-client"))
}

// CA is the certificate of the authority that signs all of the cluster's certificates (PEM).
func (p *Plane) CA() []byte { return p.authority.pem() }

// NodeKubeconfig returns the access of a kubelet that is the node of that name.
func (p *Plane) NodeKubeconfig(node string) ([]byte, error) {
	client, err := p.authority.issue(pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}})
	if err != nil {
		return nil, err
	}
	return p.kubeconfig(client)
}

// kubeconfig writes a way into the cluster down.
func (p *Plane) kubeconfig(client pair) ([]byte, error) {
	const name = "lab"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server:                   fmt.Sprintf("https://%s:%d", p.address(), Port),
		CertificateAuthorityData: p.authority.pem(),
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: client.cert, ClientKeyData: client.key}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return data, nil
}
