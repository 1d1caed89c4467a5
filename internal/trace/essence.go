package trace

import (
	"reflect"
	"regexp"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// essence is what of a record has to be the same for it to be left out.
type essence struct {
	Snapshot model.Snapshot
	Decision model.Decision
	Result   Result
}

// sameDecision tells whether two records are of one decision on one
// observation, whatever came of it.
func (e *essence) sameDecision(other essence) bool {
	other.Result = e.Result
	return reflect.DeepEqual(*e, other)
}

// looks are the fields that only say when something was looked at or will be.
var looks = map[string]bool{"Now": true, "At": true, "Since": true, "Recheck": true}

// source is the near end of a connection in an error of Go's net package. Its
// port is another one at each attempt.
var source = regexp.MustCompile(`\S+:\d+->`)

func essenceOf(r Record) essence {
	return copied(essence{Snapshot: r.Snapshot, Decision: r.Decision, Result: r.Result}, func(field string, v reflect.Value) {
		switch {
		case looks[field]:
			v.SetZero()
		case field == "Lag":
			v.SetUint(v.Uint() / (model.MaxLag + 1))
		case v.Kind() == reflect.String:
			v.SetString(source.ReplaceAllString(v.String(), ""))
		}
	})
}

// inUTC is a copy of the record with all times in UTC.
func inUTC(r Record) Record {
	return copied(r, func(_ string, v reflect.Value) {
		if at, ok := v.Interface().(time.Time); ok {
			v.Set(reflect.ValueOf(at.UTC().Round(0)))
		}
	})
}

// copied is a copy of v that shares nothing with it. Every plain value and
// every time in it is passed to change, with the name of the field it stands
// in or below.
func copied[T any](v T, change func(field string, v reflect.Value)) T {
	var out T
	copyInto(reflect.ValueOf(&out).Elem(), reflect.ValueOf(v), "", change)
	return out
}

func copyInto(to, from reflect.Value, field string, change func(field string, v reflect.Value)) {
	to.Set(from)
	if from.Type() == reflect.TypeFor[time.Time]() {
		change(field, to)
		return
	}
	switch from.Kind() {
	case reflect.Struct:
		for i := range from.NumField() {
			copyInto(to.Field(i), from.Field(i), from.Type().Field(i).Name, change)
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			copyInto(to.Index(i), from.Index(i), field, change)
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))
		for key, value := range from.Seq2() {
			fresh := reflect.New(value.Type()).Elem()
			copyInto(fresh, value, field, change)
			to.SetMapIndex(key, fresh)
		}
	case reflect.Pointer:
		if from.IsNil() {
			return
		}
		to.Set(reflect.New(from.Type().Elem()))
		copyInto(to.Elem(), from.Elem(), field, change)
	case reflect.Interface:
		if from.IsNil() {
			return
		}
		fresh := reflect.New(from.Elem().Type()).Elem()
		copyInto(fresh, from.Elem(), field, change)
		to.Set(fresh)
	default:
		change(field, to)
	}
}
