package desired

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// RemediationRecord is the value of the annotations that keep a replacement on
// record, in the form KubeadmControlPlane gives it.
func RemediationRecord(r controlplanev1.LastRemediationStatus) string {
	r.Timestamp = metav1.NewTime(r.Timestamp.UTC().Truncate(1e9)) // JSON holds whole seconds
	return string(mustJSON(r))
}

// RemediationInProgress is the replacement that has begun and whose new server
// is not made yet. The second result is false when there is none on record, or
// the record can't be read.
func RemediationInProgress(cp *controlplanev1.RKE2ControlPlane) (controlplanev1.LastRemediationStatus, bool) {
	return readRemediation(cp.Annotations[controlplanev1.RemediationInProgressAnnotation])
}

// RemediationFor is the replacement that a Machine was made for.
func RemediationFor(m *clusterv1.Machine) (controlplanev1.LastRemediationStatus, bool) {
	return readRemediation(m.Annotations[controlplanev1.RemediationForAnnotation])
}

func readRemediation(text string) (controlplanev1.LastRemediationStatus, bool) {
	var r controlplanev1.LastRemediationStatus
	if text == "" || json.Unmarshal([]byte(text), &r) != nil || r.Machine == "" {
		return controlplanev1.LastRemediationStatus{}, false
	}
	return r, true
}

// Served tells whether one of the Machines was made for the replacement on
// record.
func Served(record controlplanev1.LastRemediationStatus, machines collections.Machines) bool {
	for _, m := range machines {
		made, ok := RemediationFor(m)
		if ok && made.Machine == record.Machine && made.Timestamp.Unix() == record.Timestamp.Unix() {
			return true
		}
	}
	return false
}

// Marked tells whether a MachineHealthCheck wants the Machine replaced by its
// owner: both of its conditions are False (contract of Cluster API's
// MachineHealthCheck with owners of Machines).
func Marked(m *clusterv1.Machine) bool {
	return conditions.IsFalse(m, clusterv1.MachineHealthCheckSucceededCondition) && conditions.IsFalse(m, clusterv1.MachineOwnerRemediatedCondition)
}
