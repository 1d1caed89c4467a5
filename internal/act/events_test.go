package act

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/events"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/scope"
)

// Every action has an event with a name of its own.
func TestEveryActionHasAnEvent(t *testing.T) {
	seen := map[string]bool{}
	for _, action := range model.Actions() {
		recorder := events.NewFakeRecorder(1)
		a := New(Options{Recorder: recorder})
		a.report(&scope.Scope{ControlPlane: &controlplanev1.RKE2ControlPlane{}}, action, nil)
		got := strings.Fields(<-recorder.Events)
		if want := model.KindOf(action); got[1] != want || seen[want] {
			t.Errorf("the event of %s is called %s", want, got[1])
		}
		seen[got[1]] = true
	}
}
