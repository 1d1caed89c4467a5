package act_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/util/collections"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/upkeep"
	"github.com/drover-project/drover/internal/world/desired"
)

// healthCheck lets a MachineHealthCheck say whether a Machine is to be
// replaced.
func (f *fixture) healthCheck(name string, failed bool) {
	f.t.Helper()
	m := f.machine(name)
	status := metav1.ConditionTrue
	if failed {
		status = metav1.ConditionFalse
	}
	for _, kind := range []string{clusterv1.MachineHealthCheckSucceededCondition, clusterv1.MachineOwnerRemediatedCondition} {
		conditions.Set(m, metav1.Condition{Type: kind, Status: status, Reason: "Test"})
	}
	f.Expect(f.Management.Status().Update(f.t.Context(), m)).To(Succeed())
}

// inProgress is the record on the control plane.
func (f *fixture) inProgress() (controlplanev1.LastRemediationStatus, bool) {
	f.t.Helper()
	return desired.RemediationInProgress(f.Scope().ControlPlane)
}

// keep lets upkeep look after the records.
func (f *fixture) keep() {
	f.t.Helper()
	u := &upkeep.Upkeep{Client: f.Management, Live: f.Management, Nodes: nowhere{}, Now: time.Now}
	u.Run(f.t.Context(), f.Scope()) // what else is to be kept in order fails here
}

// nowhere has no connection to any workload cluster.
type nowhere struct{}

func (nowhere) GetClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, clustercache.ErrClusterNotConnected
}

func (nowhere) GetUncachedClient(context.Context, client.ObjectKey) (client.Client, error) {
	return nil, clustercache.ErrClusterNotConnected
}

// made are the Machines whose names begin with that of the control plane.
func (f *fixture) made() []*clusterv1.Machine {
	f.t.Helper()
	var out []*clusterv1.Machine
	for name, m := range f.Scope().Machines {
		if name[0] != 'm' {
			out = append(out, m)
		}
	}
	return out
}

func TestRemediationIsOnRecord(t *testing.T) {
	f := setUp(t, 3, 0)
	remove := model.DeleteMachine{Machine: "m0", Why: "unhealthy", Remediate: true, Retry: 2}
	f.Expect(f.do(remove)).To(beRefused("not marked"))
	f.healthCheck("m0", true)
	f.Expect(f.do(remove)).To(Succeed())
	record, ok := f.inProgress()
	f.Expect(ok).To(BeTrue())
	f.Expect(record).To(And(HaveField("Machine", "m0"), HaveField("RetryCount", 2)))
	f.Expect(record.Timestamp.Time).To(BeTemporally("~", time.Now(), 10*time.Second))
	f.keep()
	_, ok = f.inProgress()
	f.Expect(ok).To(BeTrue(), "the replacement is still to come")

	f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(Succeed())
	f.Expect(f.made()).To(HaveLen(1))
	f.Expect(desired.Served(record, collections.FromMachines(f.made()[0]))).To(BeTrue())
	f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(Succeed())
	marked := 0
	for _, m := range f.made() {
		if _, ok := desired.RemediationFor(m); ok {
			marked++
		}
	}
	f.Expect(marked).To(Equal(1), "one Machine replaces one")
	f.keep()
	_, ok = f.inProgress()
	f.Expect(ok).To(BeFalse())
}

// A crash after any of the writes leaves one record and one Machine fewer.
func TestRemediationSurvivesACrash(t *testing.T) {
	for at := range 2 {
		t.Run(fmt.Sprintf("after write %d", at), func(t *testing.T) {
			f := setUp(t, 3, 0)
			f.healthCheck("m0", true)
			n := 0
			f.After = func(string, client.Object) error {
				if n++; n == at+1 {
					return errCrash
				}
				return nil
			}
			remove := model.DeleteMachine{Machine: "m0", Why: "unhealthy", Remediate: true}
			f.Expect(f.do(remove)).To(MatchError(errCrash))
			before, ok := f.inProgress()
			f.Expect(ok).To(BeTrue())
			f.Expect(f.do(remove)).To(Succeed())
			after, _ := f.inProgress()
			f.Expect(after).To(Equal(before))
			f.Expect(f.machine("m0").DeletionTimestamp.IsZero()).To(BeFalse())
		})
	}
}

func TestRemediationRecordEnds(t *testing.T) {
	begun := func(t *testing.T) *fixture {
		f := setUp(t, 3, 0)
		f.healthCheck("m0", true)
		n := 0
		f.After = func(string, client.Object) error {
			if n++; n == 1 {
				return errCrash
			}
			return nil
		}
		f.Expect(f.do(model.DeleteMachine{Machine: "m0", Remediate: true})).To(MatchError(errCrash))
		return f
	}
	t.Run("when the server is healthy again", func(t *testing.T) {
		f := begun(t)
		f.keep()
		_, ok := f.inProgress()
		f.Expect(ok).To(BeTrue(), "it is still marked")
		f.healthCheck("m0", false)
		f.Expect(f.do(model.CreateMachine{Purpose: model.ScaleUp})).To(Succeed())
		_, replaces := desired.RemediationFor(f.made()[0])
		f.Expect(replaces).To(BeFalse(), "nobody was replaced")
		f.keep()
		_, ok = f.inProgress()
		f.Expect(ok).To(BeFalse())
	})
	t.Run("a second failure takes over the longer row", func(t *testing.T) {
		f := begun(t)
		f.Expect(f.do(model.DeleteMachine{Machine: "m0", Remediate: true})).To(Succeed())
		f.healthCheck("m1", true)
		f.Expect(f.do(model.DeleteMachine{Machine: "m1", Remediate: true, Retry: 3})).To(Succeed())
		record, _ := f.inProgress()
		f.Expect(record).To(And(HaveField("Machine", "m1"), HaveField("RetryCount", 3)))
	})
}
