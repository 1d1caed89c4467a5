package model

import "testing"

// Healthy and Trouble are two answers to one question.
func TestHealthyMeansNoTrouble(t *testing.T) {
	answers := []Fact[bool]{{}, {Known: true}, {Known: true, Value: true}}
	for _, name := range []string{"", "cp-1-0000000a"} {
		for _, a := range answers {
			for _, alarms := range [][]string{nil, {"CORRUPT"}} {
				for _, lag := range []uint64{0, MaxLag, MaxLag + 1} {
					for _, doomed := range []bool{false, true} {
						m := Member{Name: name, Answers: a, Alarms: alarms, Lag: lag, Doomed: doomed}
						trouble, _ := m.Trouble()
						if m.Healthy() != (trouble == "") {
							t.Errorf("%+v: healthy %v, and yet %q", m, m.Healthy(), trouble)
						}
					}
				}
			}
		}
	}
}
