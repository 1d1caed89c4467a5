package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/labclient"
)

// table writes rows in aligned columns.
func table(out io.Writer, rows ...[]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

func printStatus(out io.Writer, lab *labclient.Lab, status control.Status, balancers []control.Balancer) error {
	state, provider := "starting", "none"
	if status.Ready {
		state = "ready"
	}
	if status.Provider != "" {
		provider = status.Provider
	}
	err := table(out,
		[]string{"Folder", string(lab.Folder())},
		[]string{"State", state},
		[]string{"Provider", provider},
		[]string{"Running for", time.Since(status.StartedAt).Round(time.Second).String()},
		[]string{"Process", fmt.Sprint(lab.PID())})
	if err != nil || len(balancers) == 0 {
		return err
	}
	rows := [][]string{{"CLUSTER", "LOAD BALANCER", "BACKEND", "ADDRESS", "HEALTHY", "EXCLUDED", "OPEN", "TOTAL", "LAST ERROR"}}
	for _, b := range balancers {
		if len(b.Backends) == 0 {
			rows = append(rows, []string{b.Cluster, b.Address, "-"})
		}
		for _, s := range b.Backends {
			rows = append(rows, []string{
				b.Cluster, b.Address, s.Name, fmt.Sprintf("%s:%d", s.Address, s.Port),
				fmt.Sprint(s.Healthy), fmt.Sprint(s.Excluded), fmt.Sprint(s.Open), fmt.Sprint(s.Total), s.LastError,
			})
		}
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return table(out, rows...)
}

func printMachines(out io.Writer, machines []control.Machine) error {
	rows := [][]string{{"NAME", "CLUSTER", "ROLE", "ADDRESS", "FAILURE DOMAIN", "STATE", "USER DATA", "REASON"}}
	for _, m := range machines {
		state, reason := m.State, m.Reason
		switch {
		case m.Frozen:
			state = "Frozen"
		case m.Cut:
			state = "CutOff"
		}
		if reason == "" {
			reason = m.UserDataMessage
		}
		rows = append(rows, []string{m.Name, m.Cluster, m.Role, m.IP, m.FailureDomain, state, m.UserData, reason})
	}
	return table(out, rows...)
}
