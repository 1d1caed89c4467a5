package model_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// An action that is not listed could be written, but not read.
func TestActionsListsEveryKind(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != "action" {
				continue
			}
			if receiver, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				declared = append(declared, receiver.Name)
			}
		}
	}
	for _, a := range model.Actions() {
		listed = append(listed, model.KindOf(a))
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) || len(declared) == 0 {
		t.Errorf("listed are %v, declared are %v", listed, declared)
	}
}

func TestDecisionAsJSON(t *testing.T) {
	for want, d := range map[string]model.Decision{
		`{"rule":"settled"}`:                              {Rule: "settled"},
		`{"rule":"r","action":{"kind":"FinishDeletion"}}`: {Rule: "r", Action: model.FinishDeletion{}},
		`{"rule":"r","action":{"kind":"CreateMachine","purpose":"scale up","failureDomain":"a"}}`:                         {Rule: "r", Action: model.CreateMachine{Purpose: model.ScaleUp, FailureDomain: "a"}},
		`{"rule":"r","action":{"kind":"DeleteMachine","machine":"m","why":"1 > 0 & \"so\""}}`:                             {Rule: "r", Action: model.DeleteMachine{Machine: "m", Why: `1 > 0 & "so"`}},
		`{"rule":"r","action":{"kind":"RestoreHooks","machine":"m","preTerminateOnly":true}}`:                             {Rule: "r", Action: model.RestoreHooks{Machine: "m", PreTerminateOnly: true}},
		`{"rule":"r","action":{"kind":"ExcludeFromLoadBalancers","machine":"m"}}`:                                         {Rule: "r", Action: model.ExcludeFromLoadBalancers{Machine: "m"}},
		`{"rule":"r","action":{"kind":"ReleasePreDrainHook","machine":"m"}}`:                                              {Rule: "r", Action: model.ReleasePreDrainHook{Machine: "m"}},
		`{"rule":"r","action":{"kind":"MoveLeader","from":"18446744073709551615","to":"1","fromName":"a","toName":"b"}}`:  {Rule: "r", Action: model.MoveLeader{From: 1<<64 - 1, To: 1, FromName: "a", ToName: "b"}},
		`{"rule":"r","action":{"kind":"AskForMemberRemoval","machine":"m","member":"7"}}`:                                 {Rule: "r", Action: model.AskForMemberRemoval{Machine: "m", Member: 7}},
		`{"rule":"r","action":{"kind":"RemoveMember","member":"7","ground":"its host is dead","name":"n","machine":"m"}}`: {Rule: "r", Action: model.RemoveMember{Member: 7, Ground: model.HostDead, Name: "n", Machine: "m"}},
		`{"rule":"r","action":{"kind":"ReleasePreTerminateHook","machine":"m"}}`:                                          {Rule: "r", Action: model.ReleasePreTerminateHook{Machine: "m"}},
		`{"rule":"r","action":{"kind":"DropHooks","machine":"m"}}`:                                                        {Rule: "r", Action: model.DropHooks{Machine: "m"}},
		`{"rule":"r","waits":[{"rule":"s","message":"w","blockers":[{"kind":"k","name":"n","unblock":"u"}]}]}`:            {Rule: "r", Waits: []model.Wait{{Rule: "s", Message: "w", Blockers: []model.Blocker{{Kind: "k", Name: "n", Unblock: "u"}}}}},
		`{"rule":"r","waits":[{"rule":"s","machine":"m","message":"w","blockers":[],"recheckNanoseconds":1500000000}]}`:   {Rule: "r", Waits: []model.Wait{{Rule: "s", Machine: "m", Message: "w", Blockers: []model.Blocker{}, Recheck: 1500 * time.Millisecond}}},
		`{"rule":"r","action":{"kind":"DropHooks","machine":"m"},"waits":[{"rule":"s","message":"held back meanwhile"}]}`: {Rule: "r", Action: model.DropHooks{Machine: "m"}, Waits: []model.Wait{{Rule: "s", Message: "held back meanwhile"}}},
	} {
		got, err := d.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%+v:\n got %s, %v\nwant %s", d, got, err, want)
		}
		var back model.Decision
		if err := json.Unmarshal([]byte(want), &back); err != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("%s:\n got %#v, %v\nwant %#v", want, back, err, d)
		}
	}
}

func TestDecisionThatIsNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		`{"rule":"r","action":{"kind":"Reboot","machine":"m"}}`:             `kind of action "Reboot" is not known`,
		`{"rule":"r","action":{"machine":"m"}}`:                             `kind of action "" is not known`,
		`{"rule":"r","action":"FinishDeletion"}`:                            "action: ",
		`{"rule":"r","action":{"kind":"DropHooks","machines":["m"]}}`:       `action DropHooks: json: unknown field "machines"`,
		`{"rule":"r","action":{"kind":"RemoveMember","member":7}}`:          "action RemoveMember: ",
		`{"rule":"r","because":"b"}`:                                        `unknown field "because"`,
		`{"rule":"r","waits":[{"blockers":[{"since":"yesterday"}]}]}`:       "yesterday",
		`{"rule":"r","action":{"kind":"RemoveMember","member":"the best"}}`: "the best",
	} {
		var d model.Decision
		if err := json.Unmarshal([]byte(text), &d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTruthAsText(t *testing.T) {
	for _, tri := range []model.Tri{model.Unclear, model.Yes, model.No} {
		text, err := tri.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back model.Tri
		if err := back.UnmarshalText(text); err != nil || back != tri {
			t.Errorf("%s became %d, %v", text, back, err)
		}
	}
	if _, err := model.Tri(9).MarshalText(); err == nil {
		t.Error("a truth value that does not exist was written")
	}
	var tri model.Tri
	if err := tri.UnmarshalText([]byte("maybe")); err == nil || !strings.Contains(err.Error(), `"maybe"`) {
		t.Errorf("got %v", err)
	}
}
