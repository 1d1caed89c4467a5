package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
)

// What a Machine lacks on record is recorded once, as the spec is then: only
// so a later change is seen.
func TestRecordsOfAMachineTakenOver(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	_, cluster := controlPlane()
	s.Machine.Annotations = map[string]string{}
	adopted := desired.UpdatedMachine(cp, cluster, s.Machine)
	g.Expect(adopted.Annotations).To(HaveKeyWithValue(controlplanev1.RegistrationAnnotation, "control-plane-endpoint"))
	g.Expect(adopted.Annotations).To(HaveKeyWithValue(controlplanev1.ServerConfigurationAnnotation, ContainSubstring("example.org")))
	g.Expect(adopted.Annotations).NotTo(HaveKey(controlplanev1.MadeByAnnotation))
	g.Expect(desired.Outdated(cp, adopted, s.Config, s.Infrastructure, now)).To(BeEmpty())

	cp.Spec.RegistrationMethod = controlplanev1.RegistrationInternalFirst
	cp.Spec.ServerConfig.BindAddress = "1.2.3.4"
	again := desired.UpdatedMachine(cp, cluster, adopted)
	g.Expect(again.Annotations).To(Equal(adopted.Annotations))
	g.Expect(desired.Outdated(cp, again, s.Config, s.Infrastructure, now)).To(HaveLen(2))
}

// TLS of S3 endpoints: not said means verified in our clusters and not
// verified in those taken over, and saying what holds anyway changes nothing.
func TestVerificationOfS3(t *testing.T) {
	s3 := func(verify *bool) controlplanev1.RKE2ServerConfig {
		return controlplanev1.RKE2ServerConfig{Etcd: controlplanev1.EtcdConfig{BackupConfig: controlplanev1.EtcdBackupConfig{
			S3: &controlplanev1.EtcdS3{Endpoint: "s3.example.org", EnforceSSLVerify: verify},
		}}}
	}
	for name, test := range map[string]struct {
		by         string
		was, wants *bool
		outdated   bool
	}{
		"ours, written out":           {controlplanev1.FirstServerByDrover, nil, ptr.To(true), false},
		"ours, switched off":          {controlplanev1.FirstServerByDrover, nil, ptr.To(false), true},
		"taken over, written out":     {"", nil, ptr.To(false), false},
		"taken over, left out":        {"", ptr.To(false), nil, false},
		"taken over, switched on now": {"", nil, ptr.To(true), true},
	} {
		cp, server := server(t)
		cp.Annotations = map[string]string{controlplanev1.FirstServerByAnnotation: test.by}
		cp.Spec.ServerConfig = s3(test.was)
		record, err := desired.ServerConfiguration(cp)
		if err != nil {
			t.Fatal(err)
		}
		server.Machine.Annotations[controlplanev1.ServerConfigurationAnnotation] = record
		cp.Spec.ServerConfig = s3(test.wants)
		if got := len(desired.Outdated(cp, server.Machine, server.Config, server.Infrastructure, now)) > 0; got != test.outdated {
			t.Errorf("%s: outdated is %v", name, got)
		}
	}
}
