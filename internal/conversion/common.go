package conversion

import "reflect"

// common returns a struct with those fields of src that target has, too: under the same name and with the same type.
// They are most of what two versions of a kind consist of, and a field that is added to both is among them. What differs
// is for the caller to convert.
func common[target, source any](src source) target {
	var dst target
	to, from := reflect.ValueOf(&dst).Elem(), reflect.ValueOf(src)
	for i := range to.NumField() {
		if index, ok := counterpart(to.Type().Field(i), from.Type()); ok {
			to.Field(i).Set(from.Field(index))
		}
	}
	return dst
}

// counterpart finds the field of a struct that is named like a field of another one and has its type.
func counterpart(field reflect.StructField, in reflect.Type) (index int, ok bool) {
	other, ok := in.FieldByName(field.Name)
	// Fields of an embedded struct are copied with it.
	if !ok || len(other.Index) != 1 || other.Type != field.Type {
		return 0, false
	}
	return other.Index[0], true
}
