package standin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/lab/internal/kubelet"
	"github.com/drover-project/drover/lab/internal/kubeprogram"
	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// localAPI is the one API server address that a kubelet knows: on a server the
// server's own, on an agent the local load balancer.
const localAPI = "https://127.0.0.1:6443"

// kubeletFiles are the files that the kubelet runs on.
type kubeletFiles struct {
	Client, Serving    pki.Pair
	ServerCA, ClientCA []byte
}

// startKubelet writes the kubelet's files and keeps it running.
func (n *node) startKubelet(ctx context.Context, files kubeletFiles) error {
	dir := n.agentDir("")
	store := pki.Store{Dir: filepath.Clean(dir)}
	if err := store.Write("serving-kubelet", files.Serving); err != nil {
		return err
	}
	if err := store.Write(pki.ClientCA, pki.Pair{Cert: files.ClientCA}); err != nil {
		return err
	}
	kubeconfig := n.agentDir("kubelet.kubeconfig")
	if err := writeKubeconfig(kubeconfig, localAPI, files.ServerCA, files.Client); err != nil {
		return err
	}
	settings, err := n.kubeletConfiguration(store)
	if err != nil {
		return err
	}
	file := n.agentDir("kubelet.yaml")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		return err
	}
	for _, d := range append([]string{string(n.podDir())}, kubelet.Folders...) {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	argv := append([]string{
		paths.KubeBinary, "kubelet", "--config=" + file, "--kubeconfig=" + kubeconfig, "--hostname-override=" + n.name,
		"--root-dir=/var/lib/kubelet", "--cert-dir=/var/lib/kubelet/pki", "--node-ip=" + n.ip(),
	}, n.kubeletArgs()...)
	env := append(kubeprogram.Environment(), "LAB_VERSION="+n.version, "HOME=/root")
	go n.keepRunning(ctx, "kubelet", "/var/log/kubelet.log", argv, env)
	return nil
}

func (n *node) kubeletArgs() []string {
	var args []string
	if labels := n.config.List("node-label"); len(labels) > 0 {
		args = append(args, "--node-labels="+strings.Join(labels, ","))
	}
	for _, a := range n.config.List("kubelet-arg") {
		args = append(args, "--"+strings.TrimLeft(a, "-"))
	}
	return args
}

// kubeletConfiguration adds to the settings of every lab machine what RKE2 sets.
func (n *node) kubeletConfiguration(store pki.Store) ([]byte, error) {
	taints, err := parseTaints(n.config.List("node-taint"))
	if err != nil {
		return nil, err
	}
	c := kubelet.Settings(kubelet.Paths{ClientCA: store.Path(pki.ClientCA + ".crt"), RuntimeSocket: criSocket})
	c.TLSCertFile = store.Path("serving-kubelet.crt")
	c.TLSPrivateKeyFile = store.Path("serving-kubelet.key")
	c.StaticPodPath = string(n.podDir())
	c.ProviderID = n.instance.ProviderID
	c.ClusterDomain = n.config.ClusterDomain()
	c.RegisterWithTaints = taints
	return yaml.Marshal(c)
}

func parseTaints(specs []string) ([]corev1.Taint, error) {
	var out []corev1.Taint
	for _, spec := range specs {
		keyValue, effect, ok := strings.Cut(spec, ":")
		if !ok {
			return nil, fmt.Errorf("node-taint %q: expected KEY=VALUE:EFFECT", spec)
		}
		key, value, _ := strings.Cut(keyValue, "=")
		out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return out, nil
}

func writeKubeconfig(file, server string, ca []byte, client pki.Pair) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["default"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos["default"] = &clientcmdapi.AuthInfo{ClientCertificateData: client.Cert, ClientKeyData: client.Key}
	c.Contexts["default"] = &clientcmdapi.Context{Cluster: "default", AuthInfo: "default"}
	c.CurrentContext = "default"
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*c, file)
}
