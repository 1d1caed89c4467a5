package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Actions has one value of each kind of Action, without content.
func Actions() []Action {
	return []Action{
		CreateMachine{}, DeleteMachine{}, RestoreHooks{}, ExcludeFromLoadBalancers{}, ReleasePreDrainHook{}, MoveLeader{},
		AskForMemberRemoval{}, RemoveMember{}, ReleasePreTerminateHook{}, DropHooks{}, FinishDeletion{},
	}
}

// KindOf names the kind of an action, as in "RemoveMember".
func KindOf(a Action) string { return reflect.TypeOf(a).Name() }

// decisionJSON is a Decision whose action is an object with a kind.
type decisionJSON struct {
	Rule   string          `json:"rule"`
	Action json.RawMessage `json:"action,omitzero"`
	Waits  []Wait          `json:"waits,omitzero"`
}

// MarshalJSON implements json.Marshaler. The action becomes an object with its
// kind and its fields.
func (d Decision) MarshalJSON() ([]byte, error) {
	out := decisionJSON{Rule: d.Rule, Waits: d.Waits}
	if d.Action != nil {
		action, err := marshalAction(d.Action)
		if err != nil {
			return nil, err
		}
		out.Action = action
	}
	return plainJSON(out)
}

// UnmarshalJSON implements json.Unmarshaler. A kind or a field that is not
// known is an error.
func (d *Decision) UnmarshalJSON(data []byte) error {
	var in decisionJSON
	if err := strictJSON(data, &in); err != nil {
		return fmt.Errorf("decision: %w", err)
	}
	*d = Decision{Rule: in.Rule, Waits: in.Waits}
	if len(in.Action) == 0 || string(in.Action) == "null" {
		return nil
	}
	action, err := unmarshalAction(in.Action)
	d.Action = action
	return err
}

func marshalAction(a Action) ([]byte, error) {
	fields, err := plainJSON(a)
	if err != nil {
		return nil, fmt.Errorf("action %T: %w", a, err)
	}
	kind, err := plainJSON(KindOf(a))
	if err != nil {
		return nil, fmt.Errorf("action %T: %w", a, err)
	}
	// The kind comes first, before the fields that it gives a meaning to.
	out := append([]byte(`{"kind":`), kind...)
	if rest := fields[1:]; len(rest) > 1 {
		out = append(out, ',')
	}
	return append(out, fields[1:]...), nil
}

func unmarshalAction(data []byte) (Action, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, fmt.Errorf("action: %w", err)
	}
	kind := strings.Trim(string(fields["kind"]), `"`)
	delete(fields, "kind")
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("action %s: %w", kind, err)
	}
	for _, known := range Actions() {
		if KindOf(known) != kind {
			continue
		}
		read := reflect.New(reflect.TypeOf(known))
		if err := strictJSON(rest, read.Interface()); err != nil {
			return nil, fmt.Errorf("action %s: %w", kind, err)
		}
		action, _ := read.Elem().Interface().(Action)
		return action, nil
	}
	return nil, fmt.Errorf("kind of action %q is not known", kind)
}

// plainJSON is json.Marshal without the care for HTML pages.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// strictJSON is json.Unmarshal that refuses fields it does not know.
func strictJSON(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// triNames are the values of Tri as text.
var triNames = map[Tri]string{Unclear: "unclear", Yes: "yes", No: "no"}

// MarshalText implements encoding.TextMarshaler.
func (t Tri) MarshalText() ([]byte, error) {
	name, ok := triNames[t]
	if !ok {
		return nil, fmt.Errorf("truth value %d is not known", int(t))
	}
	return []byte(name), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Tri) UnmarshalText(text []byte) error {
	for value, name := range triNames {
		if name == string(text) {
			*t = value
			return nil
		}
	}
	return fmt.Errorf("truth value %q is not known: it is yes, no or unclear", text)
}
