package release

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/drover-project/drover/test/apiserver"
	"github.com/drover-project/drover/test/loopback"
)

// manager is a running manager of a provider.
type manager struct {
	// account is the name that the API server knows it by.
	account string
	// diagnostics is the address of its metrics.
	diagnostics string
	stop        func()
}

// start runs the manager as its Deployment says: with its arguments and
// environment, and as its ServiceAccount. Only the addresses it listens on are
// those of this machine.
func (p *plane) start(t *testing.T, objects []*unstructured.Unstructured, webhooks netip.AddrPort, more ...string) *manager {
	t.Helper()
	deployment := one[appsv1.Deployment](t, objects, "Deployment")
	account := one[corev1.ServiceAccount](t, objects, "ServiceAccount")
	health, diagnostics := loopback.Address(), loopback.Address()
	args, env := commandLine(deployment)
	args = append(args, fmt.Sprintf("--health-addr=%s", health), fmt.Sprintf("--diagnostics-address=%s", diagnostics),
		fmt.Sprintf("--webhook-port=%d", webhooks.Port()), "--kubeconfig="+apiserver.Kubeconfig(t, p.config, &clientcmdapi.AuthInfo{Token: p.token(t, account)}))
	m := &manager{
		account:     "system:serviceaccount:" + account.Namespace + ":" + account.Name,
		diagnostics: fmt.Sprintf("https://%s/metrics", diagnostics),
	}
	m.run(t, append(args, more...), env)
	poll(t, func(ctx context.Context) error {
		return answers(ctx, fmt.Sprintf("http://%s/readyz", health))
	})
	return m
}

func (m *manager) run(t *testing.T, args, env []string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), drover, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	m.stop = func() {
		if stopped {
			return
		}
		stopped = true
		hard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		defer hard.Stop()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("stop the manager: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the manager ended: %v", err)
		}
	}
	t.Cleanup(func() {
		m.stop()
		if data, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("log of %s:\n%s", m.account, data)
		}
	})
}

// commandLine gives the arguments of the only container, with the references
// to its environment replaced as a kubelet does, and the environment itself.
func commandLine(deployment *appsv1.Deployment) (args, env []string) {
	container := deployment.Spec.Template.Spec.Containers[0]
	var references []string
	for _, variable := range container.Env {
		value := variable.Value
		if variable.ValueFrom != nil && variable.ValueFrom.FieldRef.FieldPath == "metadata.namespace" {
			value = deployment.Namespace
		}
		env = append(env, variable.Name+"="+value)
		references = append(references, "$("+variable.Name+")", value)
	}
	replace := strings.NewReplacer(references...)
	for _, argument := range container.Args {
		args = append(args, replace.Replace(argument))
	}
	return args, env
}

func (p *plane) token(t *testing.T, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	meta := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: account.Namespace, Name: account.Name}}
	if err := p.kube.SubResource("token").Create(t.Context(), meta, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
