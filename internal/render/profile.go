package render

import (
	"fmt"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// profile returns the value of the profile key. The releases of the table of keys accept only one name of the CIS
// profile and end on its older one (https://docs.rke2.io/security/hardening_guide).
func profile(in *Input) string {
	chosen := in.Config.AgentConfig.CISProfile
	if chosen == bootstrapv1.CIS123 && tableCovers(in.Version) {
		chosen = bootstrapv1.CIS
	}
	return string(chosen)
}

// checkProfile refuses the profiles of before Kubernetes 1.25 where RKE2 would not start with them.
func checkProfile(in *Input) error {
	chosen := in.Config.AgentConfig.CISProfile
	old := chosen == bootstrapv1.CIS15 || chosen == bootstrapv1.CIS16
	if !old || in.Version.Major == 1 && in.Version.Minor < 25 {
		return nil
	}
	return fmt.Errorf("agentConfig.cisProfile: RKE2 %s has no profile %q (the key profile of config.yaml); use %q",
		in.Version, chosen, bootstrapv1.CIS)
}
