package apiserver

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a file with which a process of its own reaches the server of the configuration as somebody, and
// returns its path. It goes with the test.
func Kubeconfig(t *testing.T, server *rest.Config, as *clientcmdapi.AuthInfo) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.Host, CertificateAuthorityData: server.CAData}
	config.AuthInfos["it"] = as
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
