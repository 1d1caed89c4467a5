package workload

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func kubeconfig(t *testing.T, change func(*clientcmdapi.Config)) []byte {
	t.Helper()
	c := clientcmdapi.NewConfig()
	c.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://192.0.2.1:6443"}
	c.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: "secret"}
	c.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	c.CurrentContext = "x"
	change(c)
	text, err := clientcmd.Write(*c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKubeconfigOfTheSecret(t *testing.T) {
	key := client.ObjectKey{Namespace: "demo", Name: "c"}
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"good":       {kubeconfig(t, func(*clientcmdapi.Config) {}), ""},
		"empty":      {nil, "key value is missing or empty"},
		"no yaml":    {[]byte("token: [secret"), "it can't be read"},
		"no context": {kubeconfig(t, func(c *clientcmdapi.Config) { c.CurrentContext = "other" }), "it is not complete"},
		"runs": {kubeconfig(t, func(c *clientcmdapi.Config) {
			c.AuthInfos["u"].Exec = &clientcmdapi.ExecConfig{Command: "rm", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never"}
		}), "runs a program"},
		"reads a token": {kubeconfig(t, func(c *clientcmdapi.Config) { c.AuthInfos["u"].TokenFile = "/etc/shadow" }), "reads files"},
		"reads a CA":    {kubeconfig(t, func(c *clientcmdapi.Config) { c.Clusters["c"].CertificateAuthority = "/etc/shadow" }), "reads files"},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "c-kubeconfig"}, Data: map[string][]byte{"value": c.text}}
		adjusted := false
		k := Kubeconfigs{
			Secrets: fake.NewClientBuilder().WithObjects(secret).Build(), UserAgent: "me",
			Adjust: func(*rest.Config) { adjusted = true },
		}
		config, err := k.GetRESTConfig(t.Context(), key)
		if c.want == "" {
			if err != nil || config.Host != "https://192.0.2.1:6443" || config.Timeout != CallTimeout || config.UserAgent != "me" || !adjusted {
				t.Errorf("%s: %+v, %v", name, config, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Kubeconfigs{Secrets: fake.NewClientBuilder().Build()}.GetUncachedClient(t.Context(), key)
	if err == nil || !strings.Contains(err.Error(), "read Secret demo/c-kubeconfig") {
		t.Errorf("%v", err)
	}
}
