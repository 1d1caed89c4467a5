package bootstrap

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

func TestDataLimits(t *testing.T) {
	for name, c := range map[string]struct {
		annotation, infrastructure string
		want                       int
		problem                    string
	}{
		"AWS":                    {"", "AWSMachine", 16384, ""},
		"elsewhere":              {"", "LabMachine", 0, ""},
		"annotated":              {"4096", "AWSMachine", 4096, ""},
		"annotated: no limit":    {"0", "AWSMachine", 0, ""},
		"annotated with a unit":  {"16Ki", "AWSMachine", 0, `has to be a number of bytes, or 0 for no limit, and not "16Ki"`},
		"annotated with a minus": {"-1", "AWSMachine", 0, "has to be a number of bytes"},
	} {
		config := &bootstrapv1.RKE2Config{}
		if c.annotation != "" {
			config.Annotations = map[string]string{"rke2.bootstrap.cluster.x-k8s.io/data-limit": c.annotation}
		}
		got, err := DefaultDataLimits().limit(config, c.infrastructure)
		if got.Bytes != c.want || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Data the infrastructure would refuse are not made; more room makes them.
func TestDataAboveTheLimit(t *testing.T) {
	w := newWorld(t)
	w.provision()
	w.secrets()
	w.machineWith("cp-1", true, nil, func(config *bootstrapv1.RKE2Config) {
		config.ObjectMeta = metav1.ObjectMeta{
			Namespace: config.Namespace, Name: config.Name, OwnerReferences: config.OwnerReferences,
			Annotations: map[string]string{bootstrapv1.DataLimitAnnotation: "1000"},
		}
	})
	w.waits("cp-1", bootstrapv1.DataSecretNotAvailableReason,
		"and 1000 are possible because the annotation rke2.bootstrap.cluster.x-k8s.io/data-limit says so: take large content out "+
			"of files, or have it on the machine image; the largest parts are /etc/rancher/rke2/bootstrap.sh (")
	config := w.config("cp-1")
	config.Annotations[bootstrapv1.DataLimitAnnotation] = "20000"
	w.Expect(api.Update(w.ctx, config)).To(Succeed())
	w.hasData("cp-1")
}
