package bootstrap

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// pinned is the full form of a token for the cluster's server CA, put together without the code under test.
func (w *world) pinned(user, token string) string {
	w.Helper()
	authority, err := secrets.LookupCA(w.ctx, api, w.key("demo"), secrets.ServerCA)
	w.Expect(err).NotTo(HaveOccurred())
	sum := sha256.Sum256(authority.Cert)
	return "K10" + hex.EncodeToString(sum[:]) + "::" + user + ":" + token
}

// A cluster of ours has a token of its own for workers, which all of its servers know. Joining nodes pin the server CA.
func TestTokens(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
	})
	w.provision()
	w.secrets()
	server, err := secrets.LookupToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	agent, err := secrets.LookupAgentToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(agent).NotTo(Equal(server))

	w.server("cp-1", nil)
	first := nodeConfig(w, w.hasData("cp-1"))
	w.Expect(first).To(And(HaveKeyWithValue("token", server), HaveKeyWithValue("agent-token", agent)))

	w.initialize()
	w.server("cp-2", nil)
	joining := nodeConfig(w, w.hasData("cp-2"))
	w.Expect(joining).To(And(HaveKeyWithValue("token", w.pinned("server", server)), HaveKeyWithValue("agent-token", agent)))

	w.worker("md-1", nil)
	worker := w.hasData("md-1")
	w.Expect(nodeConfig(w, worker)).To(And(HaveKeyWithValue("token", w.pinned("node", agent)), Not(HaveKey("agent-token"))))
	w.Expect(string(worker.Data["value"])).NotTo(ContainSubstring(server), "a worker has the token that servers join with")
}

// In a cluster that was taken over all nodes have one token: its servers run without an agent token.
func TestTokenOfAClusterTakenOver(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.initialize()
	token, err := secrets.LookupToken(w.ctx, api, w.key("demo"))
	w.Expect(err).NotTo(HaveOccurred())
	w.server("cp-2", nil)
	w.Expect(nodeConfig(w, w.hasData("cp-2"))).To(And(HaveKeyWithValue("token", w.pinned("server", token)), Not(HaveKey("agent-token"))))
	w.worker("md-1", nil)
	w.Expect(nodeConfig(w, w.hasData("md-1"))).To(HaveKeyWithValue("token", w.pinned("node", token)))
}

// The agent token is not left out because its Secret is gone: the servers that run have it.
func TestAgentTokenIsMissing(t *testing.T) {
	w := newWorld(t)
	w.updateControlPlane(func(cp *controlplanev1.RKE2ControlPlane) {
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: controlplanev1.FirstServerByDrover}
	})
	w.provision()
	w.secrets()
	w.Expect(api.Delete(w.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "demo-token-agent"}})).
		To(Succeed())
	w.initialize()
	w.server("cp-2", nil)
	w.waits("cp-2", bootstrapv1.DataSecretNotAvailableReason, "/demo-token-agent: it does not exist")
}
