package bootstrap

import (
	"fmt"
	"strconv"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/render"
)

// DataLimits is how many bytes, compressed, bootstrap data may have by the kind of the infrastructure. EC2 takes 16 KiB
// (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html). Kinds that are not in it have no limit.
type DataLimits map[string]int

// DefaultDataLimits are those of infrastructure that is known to have one.
func DefaultDataLimits() DataLimits {
	return DataLimits{"AWSMachine": 16384, "AWSMachinePool": 16384}
}

// limit is the one that holds for the data of a config; its annotation comes before what the manager was started with.
func (l DataLimits) limit(config *bootstrapv1.RKE2Config, infrastructure string) (render.Limit, error) {
	text, ok := config.Annotations[bootstrapv1.DataLimitAnnotation]
	if !ok {
		return render.Limit{
			Bytes: l[infrastructure], Reason: fmt.Sprintf("the infrastructure is an %s (annotation %s sets another limit)",
				infrastructure, bootstrapv1.DataLimitAnnotation),
		}, nil
	}
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes < 0 {
		return render.Limit{}, waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"the annotation %s has to be a number of bytes, or 0 for no limit, and not %q", bootstrapv1.DataLimitAnnotation, text)
	}
	return render.Limit{Bytes: bytes, Reason: "the annotation " + bootstrapv1.DataLimitAnnotation + " says so"}, nil
}
