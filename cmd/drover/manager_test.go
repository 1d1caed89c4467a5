package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	logsv1 "k8s.io/component-base/logs/api/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/trace"
	"github.com/drover-project/drover/test/apiserver"
)

// The command line alone makes a manager keep its decisions.
func TestDecisionsOfAManagerAreKept(t *testing.T) {
	g := NewWithT(t)
	// Logging can be set up only once in the life of a process.
	t.Cleanup(func() { _ = logsv1.ResetForTest(nil) })
	server := apiserver.Start(t, apiserver.Options{Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.ClusterAPI}})
	scheme, err := controller.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	api, err := server.Client(scheme)
	g.Expect(err).NotTo(HaveOccurred())
	reference := clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "RKE2ControlPlane", Name: "demo"}
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "demo"},
		Spec:       clusterv1.ClusterSpec{ControlPlaneRef: reference},
	}
	g.Expect(api.Create(t.Context(), cluster)).To(Succeed())
	infrastructure := clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "NoSuchTemplate", Name: "small"}
	g.Expect(api.Create(t.Context(), &controlplanev1.RKE2ControlPlane{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: "demo", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind("Cluster"))},
		},
		Spec: controlplanev1.RKE2ControlPlaneSpec{
			Version: "v1.36.3+rke2r1",
			MachineTemplate: controlplanev1.RKE2ControlPlaneMachineTemplate{
				Spec: controlplanev1.RKE2ControlPlaneMachineTemplateSpec{InfrastructureRef: infrastructure},
			},
		},
	})).To(Succeed())

	path := filepath.Join(t.TempDir(), "decisions.ndjson")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{
			"--kubeconfig=" + kubeconfig(t, server), "--provider=control-plane", "--webhook-port=0", "--skip-crd-migration-phases=All",
			"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics=true", "--decision-trace=" + path,
		})
	}()
	g.Eventually(func(g Gomega) {
		select {
		case err := <-ended:
			StopTrying("the manager has ended").Wrap(err).Now()
		default:
		}
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(HaveSuffix("\n"))
	}).WithTimeout(time.Minute).Should(Succeed())
	stop()
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Succeed()))

	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(file.Close()).To(Succeed()) }()
	record, err := trace.NewReader(file).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.ControlPlane).To(Equal("default/demo"))
	g.Expect(record.Decision.Waits).NotTo(BeEmpty())
	g.Expect(record.Result.State).To(Equal(trace.None))
}

func kubeconfig(t *testing.T, server *apiserver.Server) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: server.Config.Host, CertificateAuthorityData: server.Config.CAData}
	config.AuthInfos["it"] = &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
