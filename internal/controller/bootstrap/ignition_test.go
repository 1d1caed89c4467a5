package bootstrap

import (
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_3"
	. "github.com/onsi/gomega"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// TestIgnition has the infrastructure told that the data are for Ignition, and data that Ignition accepts.
func TestIgnition(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.machineWith("cp-1", true, nil, func(c *bootstrapv1.RKE2Config) { c.Spec.AgentConfig.Format = bootstrapv1.Ignition })
	secret := w.hasData("cp-1")
	w.Expect(string(secret.Data["format"])).To(Equal("ignition"))
	config, found, err := ignition.Parse(secret.Data["value"])
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(found.Entries).To(BeEmpty())
	w.Expect(config.Systemd.Units).To(HaveLen(1))
}
