package act

import (
	"testing"

	"github.com/drover-project/drover/internal/model"
)

// Every action has an event with a name of its own.
func TestEveryActionHasAnEvent(t *testing.T) {
	for _, a := range model.Actions() {
		if got := name(a); got != model.KindOf(a) {
			t.Errorf("the event of %s is called %s", model.KindOf(a), got)
		}
	}
}
