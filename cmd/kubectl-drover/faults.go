package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/drover-project/drover/internal/sim"
)

// faultFlags are the flags for what may go wrong or be done by users.
var faultFlags = [...]struct {
	fault sim.Fault
	name  string
	usage string
}{
	{sim.Death, "deaths", "hosts that stop for good"},
	{sim.Freeze, "freezes", "hosts that stop answering and may come back"},
	{sim.KubeletDeath, "kubelet-deaths", "kubelets that stop for good while their host runs"},
	{sim.Corruption, "etcd-failures", "etcd members that never start again while their host runs"},
	{sim.NodeDelete, "node-deletes", "Node objects that somebody deletes while their server runs"},
	{sim.InfraLoss, "infrastructure-losses", "infrastructure machines that disappear with their host"},
	{sim.Silence, "rke2-silences", "RKE2 stops serving removal annotations for good (0 or 1)"},
	{sim.EarlyStart, "early-starts", "hosts that run for a while before their infrastructure reports them"},
	{sim.Foreign, "foreign-hooks", "pre-terminate hooks that somebody else puts on Machines"},
	{sim.HookLoss, "hook-losses", "Machines off which somebody strips our hooks"},
	{sim.UserDelete, "user-deletes", "Machines that a user deletes"},
	{sim.ScaleUp, "scale-ups", "times a user asks for one server more"},
	{sim.ScaleDown, "scale-downs", "times a user asks for one server fewer"},
	{sim.Upgrade, "upgrades", "times a user changes the version, beside the change the run begins with"},
	{sim.WholeDelete, "whole-deletes", "a user deletes the control plane (0 or 1)"},
}

// faults are the numbers given with faultFlags.
type faults [len(faultFlags)]uint8

// add adds the flags, with a number that each has if it is not given.
func (f *faults) add(flags *pflag.FlagSet, number uint8, before string) {
	for i, flag := range faultFlags {
		flags.Uint8Var(&f[i], flag.name, number, before+flag.usage)
	}
}

// budget is what the explorer needs of them, with at most so many of each.
func (f *faults) budget(most uint8) (sim.Budget, error) {
	var out sim.Budget
	for i, flag := range faultFlags {
		if f[i] > most {
			return out, fmt.Errorf("--%s %d: choose at most %d", flag.name, f[i], most)
		}
		out[flag.fault] = f[i]
	}
	return out, nil
}
