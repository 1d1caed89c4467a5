package probe

import (
	"strings"
	"testing"
)

func TestReconcileCount(t *testing.T) {
	const text = `# HELP controller_runtime_reconcile_total Total number of reconciliations per controller
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="a",result="success"} 12
controller_runtime_reconcile_total{controller="a",result="error"} 1
controller_runtime_reconcile_total{controller="b",result="requeue_after"} 1.2e+01
controller_runtime_reconcile_errors_total{controller="a"} 99
`
	n, err := reconcileCount(strings.NewReader(text))
	if err != nil || n != 25 {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := reconcileCount(strings.NewReader("controller_runtime_reconcile_total{x\n")); err == nil {
		t.Error("a broken line was read")
	}
}
