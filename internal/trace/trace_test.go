package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

// moment is any time that JSON can hold, in UTC, or none.
var moment = rapid.Custom(func(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "no time") {
		return time.Time{}
	}
	return time.Unix(rapid.Int64Range(-1<<33, 1<<36).Draw(t, "seconds"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
})

// action is any action, or none.
var action = rapid.Custom(func(t *rapid.T) model.Action {
	kinds := model.Actions()
	i := rapid.IntRange(0, len(kinds)).Draw(t, "kind")
	if i == len(kinds) {
		return nil
	}
	made := reflect.New(reflect.TypeOf(kinds[i])).Elem()
	for f := range made.NumField() {
		switch field := made.Field(f); field.Kind() {
		case reflect.String:
			field.SetString(rapid.String().Draw(t, "text"))
		case reflect.Uint64:
			field.SetUint(rapid.Uint64().Draw(t, "number"))
		case reflect.Int:
			field.SetInt(int64(rapid.Int().Draw(t, "number")))
		case reflect.Bool:
			field.SetBool(rapid.Bool().Draw(t, "truth"))
		default:
			t.Fatalf("field of kind %s is not made here", field.Kind())
		}
	}
	out, _ := made.Interface().(model.Action)
	return out
})

// list is a list with up to three elements, an empty one, or none.
func list[T any](element *rapid.Generator[T]) *rapid.Generator[any] {
	return rapid.OneOf(rapid.Just([]T(nil)), rapid.SliceOfN(element, 0, 3)).AsAny()
}

// record is any record. Fields that are added to the model later are in it.
var record = sync.OnceValue(func() *rapid.Generator[trace.Record] {
	types := map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time]():    moment.AsAny(),
		reflect.TypeFor[model.Tri]():    rapid.SampledFrom([]model.Tri{model.Unclear, model.Yes, model.No}).AsAny(),
		reflect.TypeFor[trace.State]():  rapid.SampledFrom([]trace.State{trace.None, trace.Done, trace.Refused, trace.Failed}).AsAny(),
		reflect.TypeFor[model.Action](): action.AsAny(),
		reflect.TypeFor[[]string]():     list(rapid.String()),
		reflect.TypeFor[[]model.Hook](): list(rapid.Make[model.Hook]()),
	}
	config := rapid.MakeConfig{Types: types}
	types[reflect.TypeFor[[]model.Blocker]()] = list(rapid.MakeCustom[model.Blocker](config))
	types[reflect.TypeFor[[]model.Wait]()] = list(rapid.MakeCustom[model.Wait](config))
	types[reflect.TypeFor[[]model.Member]()] = list(rapid.MakeCustom[model.Member](config))
	types[reflect.TypeFor[map[string]model.Fact[bool]]()] = rapid.OneOf(rapid.Just(map[string]model.Fact[bool](nil)),
		rapid.MapOfN(rapid.String(), rapid.MakeCustom[model.Fact[bool]](config), 0, 3)).AsAny()
	types[reflect.TypeFor[[]model.Machine]()] = list(rapid.MakeCustom[model.Machine](config))
	made := rapid.MakeCustom[trace.Record](config)
	return rapid.Custom(func(t *rapid.T) trace.Record {
		r := made.Draw(t, "record")
		r.ControlPlane = rapid.StringN(1, 20, -1).Draw(t, "control plane")
		r.Unchanged, r.LastSeen, r.Lost = 0, time.Time{}, 0
		return r
	})
})

func written(t interface{ Fatal(...any) }, records ...trace.Record) *bytes.Buffer {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func read(t interface{ Fatal(...any) }, in io.Reader) []trace.Record {
	var out []trace.Record
	for r := trace.NewReader(in); ; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, record)
	}
}

func TestReadIsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record().Draw(t, "record")
		text := written(t, want)
		if n := bytes.Count(text.Bytes(), []byte("\n")); n != 1 {
			t.Fatalf("a record has %d lines", n)
		}
		if got := read(t, text); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Fatalf("got  %#v\nwant %#v", got, want)
		}
	})
}

// at is a short record, seconds after the first.
func at(seconds int, change ...func(*trace.Record)) trace.Record {
	now := time.Date(2026, 12, 1, 10, 0, seconds, 500, time.UTC)
	r := trace.Record{
		Time: now, ControlPlane: "default/demo", UID: "1",
		Snapshot: model.Snapshot{
			Now:          now,
			ControlPlane: model.ControlPlane{Namespace: "default", Name: "demo", Replicas: 1},
			Machines:     []model.Machine{{Name: "demo-a", Components: map[string]model.Fact[bool]{"etcd": model.Known(true, now)}}},
			Etcd:         model.Etcd{Members: model.Known([]model.Member{{ID: 7, Name: "a", Lag: uint64(seconds), Answers: model.Known(true, now)}}, now)},
		},
		Decision: model.Decision{Rule: "waits", Waits: []model.Wait{{
			Rule: "waits", Message: fmt.Sprintf("read 10.0.0.9:%d->10.0.0.1:2379: time-out", 40000+seconds), Recheck: time.Duration(60 - seconds),
			Blockers: []model.Blocker{{Kind: "etcd", Name: "demo", Since: now}},
		}}},
		Result: trace.Result{State: trace.None},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// At rest a control plane is looked at once a minute, and nothing is new.
func TestSameRecordIsCounted(t *testing.T) {
	var b bytes.Buffer
	w := trace.NewWriter(&b)
	write := func(r trace.Record) {
		t.Helper()
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		write(at(i))
	}
	if got := read(t, bytes.NewReader(b.Bytes())); len(got) != 1 || !reflect.DeepEqual(got[0], at(0)) {
		t.Fatalf("got %+v, want the first record only", got)
	}
	changed := func(r *trace.Record) { r.Snapshot.ControlPlane.Replicas = 3 }
	write(at(5, changed))
	for i := 6; i < 9; i++ {
		write(at(i, changed))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{
		at(0),
		at(5, changed, func(r *trace.Record) { r.Unchanged, r.LastSeen = 4, at(4).Time }),
		at(8, changed, func(r *trace.Record) { r.Unchanged, r.LastSeen = 2, at(7).Time }),
	}
	if got := read(t, &b); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWhatCountsAsNews(t *testing.T) {
	for name, change := range map[string]func(*trace.Record){
		"the decision":                  func(r *trace.Record) { r.Decision.Waits[0].Machine = "demo-a" },
		"the result":                    func(r *trace.Record) { r.Result = trace.Result{State: trace.Failed, Reason: "no route"} },
		"a fact":                        func(r *trace.Record) { r.Snapshot.Machines[0].Components["etcd"] = model.Known(false, r.Time) },
		"the time of something":         func(r *trace.Record) { r.Snapshot.Machines[0].Node.Value.ReadySince = r.Time },
		"a member that falls behind":    func(r *trace.Record) { r.Snapshot.Etcd.Members.Value[0].Lag = model.MaxLag + 1 },
		"another object of the name":    func(r *trace.Record) { r.UID = "2" },
		"the far end of the connection": func(r *trace.Record) { r.Decision.Waits[0].Message = "read 10.0.0.9:40001->10.0.0.2:2379: time-out" },
	} {
		if got := read(t, written(t, at(0), at(1, change))); len(got) != 2 {
			t.Errorf("%s: %d records, want 2", name, len(got))
		}
	}
	other := func(r *trace.Record) { r.ControlPlane = "default/other" }
	if got := read(t, written(t, at(0), at(0, other), at(1), at(1, other))); len(got) != 4 || got[2].ControlPlane != "default/demo" || got[3].ControlPlane != "default/other" {
		t.Errorf("two control planes: %+v", got)
	}
}

func TestReaderNamesTheLine(t *testing.T) {
	good := strings.TrimSpace(written(t, at(0)).String())
	for name, test := range map[string]struct{ line, want string }{
		"a torn line":         {good[:len(good)/2], "line 3: it is no whole JSON object"},
		"two on a line":       {good + good, "line 3: it is no whole JSON object"},
		"another version":     {strings.Replace(good, `"v":2`, `"v":3`, 1), "line 3: the record is of version 3, and versions 1 to 2 are known"},
		"no version":          {`{"time":"2026-12-01T10:00:00Z"}`, "line 3: the record is of version 0"},
		"an unknown field":    {strings.Replace(good, `"replicas"`, `"copies"`, 1), `line 3: json: unknown field "copies"`},
		"an unknown state":    {strings.Replace(good, `"state":"none"`, `"state":"half"`, 1), `line 3: result.state "half" is not known`},
		"no state":            {strings.Replace(good, `"state":"none"`, "", 1), `line 3: result.state "" is not known`},
		"an unknown action":   {strings.Replace(good, `"waits":[`, `"action":{"kind":"Pray"},"waits":[`, 1), `line 3: kind of action "Pray" is not known`},
		"no control plane":    {strings.Replace(good, `"controlPlane":"default/demo",`, "", 1), "line 3: controlPlane is missing"},
		"a time that is none": {strings.Replace(good, `"now":"2026`, `"now":"MMXXVI`, 1), "line 3: "},
	} {
		r := trace.NewReader(strings.NewReader(good + "\n\n" + test.line + "\n" + good))
		if got, err := r.Next(); err != nil || r.Line() != 1 || !reflect.DeepEqual(got, at(0)) {
			t.Errorf("%s: line %d: %+v, %v", name, r.Line(), got, err)
		}
		if _, err := r.Next(); err == nil || !strings.HasPrefix(err.Error(), test.want) || errors.Is(err, trace.ErrHalf) != (name == "a torn line") {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
		// The last line lacks nothing but its end.
		if got, err := r.Next(); err != nil || r.Line() != 4 || !reflect.DeepEqual(got, at(0)) {
			t.Errorf("%s: after it, line %d: %+v, %v", name, r.Line(), got, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: at the end %v", name, err)
		}
	}
}

// The page for users shows a record as it is written.
func TestExampleOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/decision-trace.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	var line bytes.Buffer
	if err := json.Compact(&line, []byte(example)); err != nil {
		t.Fatal(err)
	}
	got := read(t, &line)
	if len(got) != 1 {
		t.Fatalf("%d records", len(got))
	}
	// What the page writes by hand is what the Writer would have written.
	got[0].Unchanged, got[0].LastSeen = 0, time.Time{}
	if again := read(t, written(t, got[0])); !reflect.DeepEqual(again, got) {
		t.Errorf("got  %+v\nwant %+v", again, got)
	}
}
