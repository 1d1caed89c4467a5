// Package kubeprogram says how the laboratory runs the programs of Kubernetes and etcd, wherever they run.
package kubeprogram

const (
	// GarbageCollection is the value of GOGC: how much garbage, in per cent of the live data, a program gathers before
	// it collects it. Seven control planes start one after the other on two cores, and a program that starts spends much
	// of its time collecting at a lower value; at this one all of them together need 3 GiB.
	GarbageCollection = "200"
	// Processors is the value of GOMAXPROCS in a machine. RKE2 asks for two.
	Processors = "2"
)

// Environment is both as variables, in the form NAME=VALUE.
func Environment() []string {
	return []string{"GOGC=" + GarbageCollection, "GOMAXPROCS=" + Processors}
}
