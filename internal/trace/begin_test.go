package trace_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

// An action has a record before it and a short one after it; what is tried
// again and again without another outcome has no more.
func TestAnActionIsToldBeforeIt(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	act := func(r *trace.Record) { r.Decision.Action = model.DropHooks{Machine: "m"} }
	rule := func(name string) func(*trace.Record) { return func(r *trace.Record) { r.Decision.Rule = name } }
	outcome := func(s trace.State) func(*trace.Record) { return func(r *trace.Record) { r.Result.State = s } }
	for i, s := range []trace.State{trace.Failed, trace.Failed, trace.Failed, trace.Done} {
		if err := errors.Join(w.Begin(at(2*i, act)), w.Write(at(2*i+1, act, outcome(s)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Begin(at(9, act, rule("another"))); err != nil {
		t.Fatal(err)
	}
	short := func(r *trace.Record) { r.Outcome, r.Snapshot, r.Decision = true, model.Snapshot{}, model.Decision{} }
	want := []trace.Record{
		at(0, act, outcome(trace.Begun)),
		at(1, act, outcome(trace.Failed), short),
		at(7, act, outcome(trace.Done), func(r *trace.Record) { r.Unchanged, r.LastSeen = 2, at(5).Time }),
		at(9, act, rule("another"), outcome(trace.Begun)),
	}
	if got := read(t, &b); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
