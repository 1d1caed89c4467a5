package plan

import (
	"github.com/drover-project/drover/internal/model"
)

// brokenSurplusGoesFirst scales down by the server that is broken anyway. All
// others are needed for it to go, and no healthy one may go beside it.
var brokenSurplusGoesFirst = Rule{
	Name: "broken_surplus_goes_first",
	Why:  "With more servers than wished, the one that is dead costs nothing; a healthy one in its place would cost tolerance.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.staying) <= v.ControlPlane.Replicas {
			return pass()
		}
		for _, m := range v.staying {
			if v.joined(m) && v.isDeadWeight(m) {
				return do(model.DeleteMachine{Machine: m.Name, Why: "there are more servers than wished, and its host is dead"})
			}
		}
		return pass()
	},
}
