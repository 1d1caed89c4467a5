package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/trace"
	"github.com/drover-project/drover/test/apiserver"
)

// asManager in the environment makes this test program the manager.
const asManager = "DROVER_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
		return
	}
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// The command line alone makes a manager keep its decisions.
func TestDecisionsOfAManagerAreKept(t *testing.T) {
	g := NewWithT(t)
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
	manager := exec.CommandContext(t.Context(), os.Args[0],
		"--kubeconfig="+apiserver.Kubeconfig(t, server.Config, &clientcmdapi.AuthInfo{ClientCertificateData: server.Config.CertData, ClientKeyData: server.Config.KeyData}), "--provider=control-plane", "--webhook-port=0", "--skip-crd-migration-phases=All",
		"--health-addr=127.0.0.1:0", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics=true", "--decision-trace="+path)
	manager.Env = append(os.Environ(), asManager+"=1")
	var log bytes.Buffer
	manager.Stdout, manager.Stderr = &log, &log
	g.Expect(manager.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- manager.Wait() }()
	g.Eventually(func(g Gomega) {
		select {
		case err := <-ended:
			StopTrying("the manager has ended: " + log.String()).Wrap(err).Now()
		default:
		}
		text, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(text)).To(HaveSuffix("\n"))
	}).WithTimeout(time.Minute).Should(Succeed())
	g.Expect(manager.Process.Signal(os.Interrupt)).To(Succeed())
	g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(BeNil()))

	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(file.Close()).To(Succeed()) }()
	record, err := trace.NewReader(file).Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(record.ControlPlane).To(Equal("default/demo"))
	g.Expect(record.Decision.Waits).NotTo(BeEmpty())
	g.Expect(record.Result.State).To(Equal(trace.None))
}
