package probe

import (
	"strings"
	"testing"
)

func TestActivityIsRead(t *testing.T) {
	const text = `# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="a",result="success"} 12
controller_runtime_reconcile_total{controller="a",result="error"} 1
controller_runtime_reconcile_total{controller="b",result="requeue_after"} 1.2e+01
controller_runtime_reconcile_errors_total{controller="a"} 99
rest_client_requests_total{code="200",host="10.77.0.1:6443",method="GET"} 30
rest_client_requests_total{code="404",host="10.77.0.1:6443",method="GET"} 2
rest_client_requests_total{code="200",host="10.77.0.1:6443",method="PATCH"} 4
rest_client_requests_total{code="409",host="10.77.0.1:6443",method="POST"} 1
rest_client_requests_total{code="200",host="10.77.0.10:6443",method="PATCH"} 50
`
	got, err := activityOf(strings.NewReader(text), "10.77.0.1:6443")
	if want := (Activity{Reconciles: 25, Reads: 32, Writes: 5}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if since := got.Since(Activity{Reconciles: 20, Reads: 30, Writes: 5}); since != (Activity{Reconciles: 5, Reads: 2}) {
		t.Errorf("since %+v", since)
	}
	if _, err := activityOf(strings.NewReader("controller_runtime_reconcile_total{x\n"), ""); err == nil {
		t.Error("a broken line was read")
	}
}
