package timeline

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to make it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestBuildAndText(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, Build(upgrade().events, at(420), "writer", "reader")); err != nil {
		t.Fatal(err)
	}
	golden(t, "upgrade.txt", out.Bytes())
}

func TestPhasesOnlyGoForward(t *testing.T) {
	chart := Build(upgrade().events, at(420))
	if len(chart.Rows) != 7 {
		t.Fatalf("rows: %d, want 7", len(chart.Rows))
	}
	for _, r := range chart.Rows {
		for i, p := range r.Phases {
			if p.To.Before(p.From) {
				t.Errorf("%s %s ends before it starts", r.Machine, p.Kind)
			}
			if i > 0 && !r.Phases[i-1].To.Equal(p.From) {
				t.Errorf("%s: hole before %s", r.Machine, p.Kind)
			}
		}
	}
	old := chart.Rows[0]
	var kinds []PhaseKind
	for _, p := range old.Phases {
		kinds = append(kinds, p.Kind)
	}
	if !slices.Equal(kinds, Phases()) || !old.Gone {
		t.Errorf("first server passed through %v, gone %v", kinds, old.Gone)
	}
}

func TestCheckLeavingAcceptsTheRightOrder(t *testing.T) {
	findings := CheckLeaving(upgrade().events)
	for _, f := range Violations(findings) {
		t.Errorf("%s: %s: %s", f.Subject, f.Rule, f.Measured)
	}
	if len(findings) != 3*6+2 {
		t.Errorf("%d findings, want 20", len(findings))
	}
	if n := len(Departures(upgrade().events)); n != 3 {
		t.Errorf("%d departures, want 3", n)
	}
}

func TestCheckLeavingFindsFaults(t *testing.T) {
	drop := func(kind Kind, node string) func(*script) {
		return func(s *script) {
			s.events = slices.DeleteFunc(s.events, func(e Event) bool { return e.Kind == kind && e.Node == node })
		}
	}
	for name, tc := range map[string]struct {
		change func(*script)
		rule   string
	}{
		"a pod never left": {drop(PodGone, "cp-old2"), "every pod gone before the member call"},
		"pod left after the call by revision": {func(s *script) {
			for i, e := range s.events {
				if e.Kind == PodGone && e.Node == "cp-old1" {
					s.events[i].Revision = 1 << 40
				}
			}
		}, "every pod gone before the member call"},
		"still in the load balancer": {drop(NodeExcluded, "cp-old1"), "out of the load balancer before the member call"},
		"nothing watched":            {func(s *script) { drop(PodRunning, "cp-old1")(s); drop(PodTerminating, "cp-old1")(s) }, "every pod gone before the member call"},
		"annotated twice": {func(s *script) {
			s.add(300, Event{Kind: NodeRemoveAsked, Node: "cp-old1"})
		}, "exactly one member call"},
		"etcd called directly, annotation afterwards": {func(s *script) {
			for i, e := range s.events {
				if e.Kind == NodeRemoveAsked && e.Node == "cp-old1" {
					s.events[i].At = e.At.Add(5 * time.Second)
				}
			}
		}, "exactly one member call"},
		"no call at all": {func(s *script) { drop(NodeRemoveAsked, "cp-old3")(s); drop(MemberGone, "cp-old3")(s) }, "exactly one member call"},
		"blind kubelet": {func(s *script) {
			s.events = slices.DeleteFunc(s.events, func(e Event) bool {
				return e.Kind == LeaseRenewed && e.Node == "cp-old1" && e.At.After(at(130))
			})
		}, "kubelet lease never older than 40 s before the call"},
		"node lost while draining": {func(s *script) {
			s.add(140, Event{Kind: NodeNotReady, Node: "cp-old1", Detail: "NodeStatusUnknown"})
			lost := &s.events[len(s.events)-1]
			for _, e := range s.events {
				if e.Kind == PodGone && e.Node == "cp-old1" {
					lost.Revision = e.Revision - 1
				}
			}
		}, "node Ready until its pods are gone"},
		"call during the drain": {func(s *script) {
			s.events = slices.DeleteFunc(s.events, func(e Event) bool {
				return e.Kind == MachineStep && e.Machine == "cp-old1" && e.Object == "WaitingForPreTerminateHook"
			})
		}, "member call only in WaitingForPreTerminateHook"},
		"two at once": {func(s *script) {
			s.add(130, Event{Kind: MachineDeleting, Machine: "cp-old3"})
			s.add(135, Event{Kind: MachineStep, Machine: "cp-old3", Object: "DrainingNode"})
		}, "one server leaves at a time"},
		"called for a member already gone": {func(s *script) {
			s.add(300, Event{Kind: RemoveRPC, Object: "NotFound", Detail: "1"})
		}, "no MemberRemove beyond the members that went"},
		"called more often than members went": {func(s *script) {
			s.add(300, Event{Kind: RemoveRPC, Object: "OK", Detail: "1"})
		}, "no MemberRemove beyond the members that went"},
	} {
		t.Run(name, func(t *testing.T) {
			s := upgrade()
			tc.change(s)
			slices.SortStableFunc(s.events, func(a, b Event) int { return a.At.Compare(b.At) })
			bad := Violations(CheckLeaving(s.events))
			if !slices.ContainsFunc(bad, func(f Finding) bool { return f.Rule == tc.rule }) {
				t.Errorf("not found: %q in %v", tc.rule, bad)
			}
		})
	}
}

func TestCheckLeavingRejectsTheReversedOrder(t *testing.T) {
	bad := Violations(CheckLeaving(reversed().events))
	for _, rule := range []string{"every pod gone before the member call", "node Ready until its pods are gone", "member call only in WaitingForPreTerminateHook"} {
		if !slices.ContainsFunc(bad, func(f Finding) bool { return f.Rule == rule }) {
			t.Errorf("not reported: %s", rule)
		}
	}
}

func TestHookTimes(t *testing.T) {
	got := HookTimes(upgrade().events, "pre-terminate.example/ours")
	if len(got) != 3 || Median(got) != 1500*time.Millisecond {
		t.Errorf("hook times %v", got)
	}
	if m := Median([]time.Duration{4, 1, 3, 2}); m != 2 {
		t.Errorf("median of four: %v", m)
	}
}

func TestLogRoundTrip(t *testing.T) {
	var l Log
	heard := 0
	l.Listen(func(Event) { heard++ })
	for _, e := range upgrade().events {
		l.Append(e)
	}
	var buf bytes.Buffer
	if err := l.WriteJSON(&buf); err != nil {
		t.Fatal(err)
	}
	back, err := ReadJSON(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(l.Events(), back); diff != "" || heard != len(back) {
		t.Errorf("heard %d, diff %s", heard, diff)
	}
	if _, err := ReadJSON(strings.NewReader(`{"at":1}`)); err == nil {
		t.Error("garbage was accepted")
	}
}

func samplePage() Page {
	s := upgrade()
	return Page{
		Title: "A rolling upgrade", Subtitle: "three servers, v1.36.3+rke2r1 to v1.36.3+rke2r2",
		Chart: Build(s.events, at(420), "writer", "reader"), Findings: CheckLeaving(s.events), Events: s.events,
		Figures: []Figure{
			AtMost("three servers and a worker ready", 110*time.Second, 3*time.Minute),
			AtMost("whole upgrade", 300*time.Second, 330*time.Second),
			AtMost("hook released after (median)", 1500*time.Millisecond, 2*time.Second),
			AtMost("longest write gap", 6*time.Second, 5*time.Second),
		},
	}
}

func TestHTMLIsSelfContained(t *testing.T) {
	var out bytes.Buffer
	if err := HTML(&out, samplePage()); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, outside := range []string{"http://", "https://", "<script", "@import", "url(", "ZgotmplZ"} {
		if strings.Contains(page, outside) {
			t.Errorf("the page contains %q", outside)
		}
	}
	for _, want := range []string{"cp-old1", "cp-new3", "md-worker1", "1 of the checks failed", "prefers-color-scheme", "member removal", "longest gap 1.2s"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	golden(t, "upgrade.html", out.Bytes())
}

// Core passes over drains while every server is being deleted, and comes back when there is another one.
func TestAServerThatIsHeldAgainHasNotBegunToLeave(t *testing.T) {
	const rule = "one server leaves at a time"
	for name, tc := range map[string]struct {
		step string
		held bool
		want bool
	}{
		"passed over, to be held again":  {"WaitingForPreTerminateHook", true, true},
		"passed over and not held again": {"WaitingForPreTerminateHook", false, false},
		"drained, to be held again":      {"DrainingNode", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := upgrade()
			s.add(130, Event{Kind: MachineDeleting, Machine: "cp-old3"})
			s.add(131, Event{Kind: MachineStep, Machine: "cp-old3", Object: tc.step})
			if !tc.held {
				s.events = slices.DeleteFunc(s.events, func(e Event) bool {
					return e.Machine == "cp-old3" && e.Object == "WaitingForPreDrainHook"
				})
			}
			slices.SortStableFunc(s.events, func(a, b Event) int { return a.At.Compare(b.At) })
			bad := Violations(CheckLeaving(s.events))
			if got := !slices.ContainsFunc(bad, func(f Finding) bool { return f.Rule == rule }); got != tc.want {
				t.Errorf("one at a time: %t, want %t", got, tc.want)
			}
		})
	}
}
