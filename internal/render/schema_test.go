package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// needCloudInit is set where cloud-init has to be there, so that its part is not left out unnoticed.
const needCloudInit = "DROVER_TEST_NEEDS_CLOUD_INIT"

// TestCloudInitSchema has cloud-init itself check the documents. It does not look into templates that are not expanded
// yet, so those lose the line that marks them; their expressions are text as any other.
func TestCloudInitSchema(t *testing.T) {
	program, err := exec.LookPath("cloud-init")
	if err != nil {
		if os.Getenv(needCloudInit) != "" {
			t.Fatalf("%s is set and cloud-init is not installed (apt-get install cloud-init)", needCloudInit)
		}
		t.Skip("NOT TESTED: cloud-init is not installed (apt-get install cloud-init)")
	}
	inputs := map[string]Input{"everything": everything(), "air-gapped": airGapped()}
	for _, c := range truthCases() {
		if c.in.Config.AgentConfig.Format == bootstrapv1.CloudConfig {
			inputs[c.name] = c.in
		}
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			text := strings.TrimPrefix(string(mustBootstrap(t, in)), templateHeader)
			path := filepath.Join(t.TempDir(), "user-data")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := exec.CommandContext(t.Context(), program, "schema", "--config-file", path).CombinedOutput()
			if err != nil || strings.Contains(strings.ToLower(string(output)), "deprecat") {
				t.Errorf("%v:\n%s", err, output)
			}
		})
	}
}
