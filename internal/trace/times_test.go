package trace_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/trace"
)

// Whatever is looked at again with the same outcome is the same, also in
// fields that are added to the model later.
func TestTimesOfLooksAreNoNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := record().Draw(t, "record")
		second := read(t, written(t, first))[0]
		later := time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "later"))
		second.Time = second.Time.Add(later)
		look(reflect.ValueOf(&second).Elem(), later)
		if got := read(t, written(t, first, second, second)); len(got) != 2 || got[1].Unchanged != 1 {
			t.Fatalf("got %+v", got)
		}
	})
}

// look moves the time of every Fact in v.
func look(v reflect.Value, later time.Duration) {
	switch v.Kind() {
	case reflect.Struct:
		if strings.HasPrefix(v.Type().Name(), "Fact[") || v.Type() == reflect.TypeFor[model.Snapshot]() {
			for _, name := range []string{"At", "Now"} {
				if f := v.FieldByName(name); f.IsValid() {
					before, _ := f.Interface().(time.Time)
					f.Set(reflect.ValueOf(before.Add(later)))
				}
			}
		}
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			look(v.Field(i), later)
		}
	case reflect.Slice:
		for i := range v.Len() {
			look(v.Index(i), later)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			fresh := reflect.New(v.Type().Elem()).Elem()
			fresh.Set(v.MapIndex(key))
			look(fresh, later)
			v.SetMapIndex(key, fresh)
		}
	default:
	}
}

func TestTimesAreInUTC(t *testing.T) {
	zone := time.FixedZone("somewhere", 2*3600)
	local := at(0, func(r *trace.Record) {
		r.Time = r.Time.In(zone)
		r.Snapshot.Now = r.Snapshot.Now.In(zone)
		r.Snapshot.Etcd.Members.Value[0].Answers.At = r.Snapshot.Now
		r.Snapshot.Machines[0].Created = r.Snapshot.Now
	})
	before := local.Snapshot.Now.String()
	text := written(t, local)
	if strings.Contains(text.String(), "+02:00") || !strings.Contains(text.String(), `"time":"2026-12-01T10:00:00.0000005Z"`) {
		t.Errorf("%s", text)
	}
	if now := local.Snapshot.Etcd.Members.Value[0].Answers.At.String(); now != before {
		t.Errorf("the caller's record was changed from %s to %s", before, now)
	}
}
