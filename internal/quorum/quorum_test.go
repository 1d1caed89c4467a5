package quorum_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

var at = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// members builds a member list from one letter each: H healthy voter, D dead
// voter, U voter that never started, ? voter that could not be asked, L
// learner, N unnamed learner, A voter with an alarm, B voter far behind,
// X voter whose host is about to be destroyed.
func members(letters string) []model.Member {
	var out []model.Member
	for i, c := range letters {
		m := model.Member{ID: uint64(i + 1), Name: string(rune('a'+i)) + "-00000000", Answers: model.Known(true, at)}
		switch c {
		case 'D':
			m.Answers = model.Known(false, at)
		case 'U':
			m.Name, m.Answers = "", model.Known(false, at)
		case '?':
			m.Answers = model.Unknown[bool]("no route", at)
		case 'L':
			m.Learner = true
		case 'N':
			m.Learner, m.Name = true, ""
		case 'A':
			m.Alarms = []string{"NOSPACE"}
		case 'X':
			m.Doomed = true
		case 'B':
			m.Lag = model.MaxLag + 1
		}
		out = append(out, m)
	}
	return out
}

func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		name, members              string
		has, remove, lose, mayJoin bool // remove and lose are about the first member
	}{
		{"three healthy", "HHH", true, true, true, true},
		{"two healthy: removal yes, loss no", "HH", true, true, false, true},
		{"the last voter stays", "H", true, false, false, true},
		{"last voter beside a learner stays", "HL", true, false, false, false},
		{"a learner may always go", "LHHH", true, true, true, false},
		{"an unnamed learner may always go", "NH", true, true, true, false},
		{"healthy one beside a dead one must stay", "HHD", true, false, false, false},
		{"the dead one may go", "DHH", true, true, true, false},
		{"the dead one of two can't go: no quorum", "DH", false, false, false, false},
		{"unknown counts as dead", "HH?", true, false, false, false},
		{"an alarm counts as dead", "HHA", true, false, false, false},
		{"far behind counts as dead", "HHB", true, false, false, false},
		{"unstarted voter counts", "HHU", true, false, false, false},
		{"four with one dead", "HHHD", true, true, false, false},
		{"five with two dead", "HHHDD", true, false, false, false},
		{"five with two dead: a dead one may go", "DHHHD", true, true, true, false},
		{"three of five dead", "DDDHH", false, false, false, false},
		{"one about to be destroyed counts as dead", "HHX", true, false, false, false},
		{"a dead one stays beside one about to be destroyed", "DHX", false, false, false, false},
		{"no members", "", false, false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ms := members(tc.members)
			check(t, "Has", quorum.Has(ms), tc.has)
			check(t, "AfterRemoval", quorum.AfterRemoval(ms, 1), tc.remove)
			check(t, "AfterLoss", quorum.AfterLoss(ms, 1), tc.lose)
			check(t, "Join", quorum.Join(ms), tc.mayJoin)
		})
	}
}

// A joiner that was let go may join all the same, and is lost then.
func TestAfterJoinAndLoss(t *testing.T) {
	for letters, want := range map[string]bool{
		"H": false, "HH": true, "HHH": true,
		"HHD": true,  // nobody joins beside a voter that is down
		"HH?": false, // but beside one that only can't be asked
		"HHX": false, "HHHX": true, "HHA": false, "D": false, "": false,
	} {
		t.Run(letters, func(t *testing.T) { check(t, "AfterJoinAndLoss", quorum.AfterJoinAndLoss(members(letters)), want) })
	}
}

func check(t *testing.T, what string, got quorum.Verdict, want bool) {
	t.Helper()
	if got.OK != want {
		t.Errorf("%s = %v (%s), want %v", what, got.OK, got.Why, want)
	}
	if !got.OK && got.Why == "" {
		t.Errorf("%s gives no reason", what)
	}
}

// A removal that is allowed leaves a quorum, and a loss that is allowed is
// never more than a removal that is allowed.
func TestRemovalKeepsQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[HDU?LNAB]{1,7}`).Draw(t, "members")
		ms := members(letters)
		id := rapid.Uint64Range(1, uint64(len(ms))).Draw(t, "victim")
		var rest []model.Member
		for _, m := range ms {
			if m.ID != id {
				rest = append(rest, m)
			}
		}
		if quorum.AfterRemoval(ms, id).OK && !quorum.Has(rest).OK {
			t.Fatalf("%s: removal of %d allowed, but the rest has no quorum", letters, id)
		}
		if quorum.AfterLoss(ms, id).OK && !quorum.AfterRemoval(ms, id).OK {
			t.Fatalf("%s: loss of %d survivable, but removal refused", letters, id)
		}
	})
}
