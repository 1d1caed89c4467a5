package controlplane

import (
	"os"
	"strings"
	"testing"
)

// A request is refused in the same words by the schema and by the webhook.
func TestSchemaHasTheSameSentences(t *testing.T) {
	crd, err := os.ReadFile("../../../config/crd/bases/controlplane.cluster.x-k8s.io_rke2controlplanes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The file breaks long lines.
	text := strings.Join(strings.Fields(string(crd)), " ")
	for _, sentence := range []string{
		versionRequired, replicasTooFew, infrastructureRefRequired, maxSurgeNoInteger, maxSurgeOutOfRange,
		maxSurgeNeedsServers, multusWithoutCNI, rolloutTypeUnknown, registrationAddressRequired,
	} {
		// YAML doubles the apostrophe where it quotes the text.
		if !strings.Contains(text, sentence) && !strings.Contains(text, strings.ReplaceAll(sentence, "'", "''")) {
			t.Errorf("the schema does not say: %s", sentence)
		}
	}
}
