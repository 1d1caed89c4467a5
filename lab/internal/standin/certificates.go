package standin

import (
	"context"

	"github.com/drover-project/drover/lab/internal/standin/pki"
	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// issueAll issues the server's certificates and kubeconfigs anew. RKE2 does so
// at start when they are about to expire; the lab at every start.
func (s *server) issueAll() error {
	etcdHosts := []string{"localhost", "127.0.0.1", s.name, s.ip()}
	for _, c := range []struct {
		file, authority string
		subject         pki.Subject
	}{
		{"etcd/server-client", pki.EtcdServerCA, pki.Subject{Name: "etcd-server", Hosts: etcdHosts}},
		{"etcd/client", pki.EtcdServerCA, pki.Subject{Name: "etcd-client"}},
		{"etcd/peer-server-client", pki.EtcdPeerCA, pki.Subject{Name: "etcd-peer", Hosts: etcdHosts}},
		{"serving-kube-apiserver", pki.ServerCA, pki.Subject{Name: "kube-apiserver", Hosts: s.servingHosts()}},
		{"client-kube-apiserver", pki.ClientCA, pki.Subject{Name: "system:apiserver", Groups: []string{"system:masters"}}},
		{"client-auth-proxy", pki.RequestHeaderCA, pki.Subject{Name: "system:auth-proxy"}},
		{"client-admin", pki.ClientCA, pki.Subject{Name: "system:admin", Groups: []string{"system:masters"}}},
		{"client-controller", pki.ClientCA, pki.Subject{Name: "system:kube-controller-manager"}},
		{"client-scheduler", pki.ClientCA, pki.Subject{Name: "system:kube-scheduler"}},
	} {
		if err := s.tls.IssueTo(c.file, c.authority, c.subject); err != nil {
			return err
		}
	}
	for file, client := range map[string]string{
		adminKubeconfig:             "client-admin",
		s.pods.ControllerKubeconfig: "client-controller",
		s.pods.SchedulerKubeconfig:  "client-scheduler",
	} {
		if err := s.kubeconfig(file, client); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) kubeconfig(file, client string) error {
	pair, err := s.tls.Read(client)
	if err != nil {
		return err
	}
	ca, err := s.tls.Read(pki.ServerCA)
	if err != nil {
		return err
	}
	return writeKubeconfig(file, localAPI, ca.Cert, pair)
}

// kubeletFiles issues the kubelet's own certificates on a server.
func (s *server) kubeletFiles() (kubeletFiles, error) {
	serverCA, err := s.tls.Read(pki.ServerCA)
	if err != nil {
		return kubeletFiles{}, err
	}
	clientCA, err := s.tls.Read(pki.ClientCA)
	if err != nil {
		return kubeletFiles{}, err
	}
	out := kubeletFiles{ServerCA: serverCA.Cert, ClientCA: clientCA.Cert}
	if out.Client, err = s.tls.Issue(pki.ClientCA, supervisor.KubeletClient(s.name)); err != nil {
		return kubeletFiles{}, err
	}
	out.Serving, err = s.tls.Issue(pki.ServerCA, supervisor.KubeletServing(s.name, s.ip()))
	return out, err
}

// startOwnKubelet starts the server's kubelet with certificates of its own.
func (s *server) startOwnKubelet(ctx context.Context) error {
	files, err := s.kubeletFiles()
	if err != nil {
		return err
	}
	return s.startKubelet(ctx, files)
}
