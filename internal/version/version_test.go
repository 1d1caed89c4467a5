package version

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Version{
		"v1.36.3+rke2r1":         {Major: 1, Minor: 36, Patch: 3, Release: 1},
		"v1.34.2+rke2r10":        {Major: 1, Minor: 34, Patch: 2, Release: 10},
		"v1.33.13+rke2r2":        {Major: 1, Minor: 33, Patch: 13, Release: 2},
		"v1.36.0-rc1+rke2r1":     {Major: 1, Minor: 36, Patch: 0, Pre: "rc1", Release: 1},
		"v1.36.0-alpha.2+rke2r1": {Major: 1, Minor: 36, Patch: 0, Pre: "alpha.2", Release: 1},
		"v2.0.0+rke2r0":          {Major: 2},
	} {
		got, err := Parse(in)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", in, got, err, want)
		}
		if got.String() != in {
			t.Errorf("Parse(%q).String() = %q", in, got.String())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"", "v", "1.36.3+rke2r1", "v1.36.3", "v1.36+rke2r1", "v1.36.3.4+rke2r1", "v1.36.3+rke2", "v1.36.3+rke2r",
		"v1.36.3+rke2rx", "v1.36.3+rke2r1 ", " v1.36.3+rke2r1", "v1.36.3+k3s1", "v1.036.3+rke2r1", "v1.36.3-+rke2r1",
		"v1.36.3-rc..1+rke2r1", "v1.36.3-rc.01+rke2r1", "v-1.36.3+rke2r1", "v1.36.99999999999999999999+rke2r1",
		"v1.36.3+rke2r1+rke2r2", "v1.36.3-r_c+rke2r1", "stable", "v1.36.3\n+rke2r1", "v1.٣٦.3+rke2r1",
	} {
		got, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", in, got)
			continue
		}
		if !strings.Contains(err.Error(), "expected vX.Y.Z+rke2rN") {
			t.Errorf("Parse(%q): the error does not tell the form: %v", in, err)
		}
	}
}

func TestParseNeverPanicsAndRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.StringMatching(`v?[0-9]{0,3}\.[0-9]{0,3}\.[0-9]{0,12}(-[a-z0-9.-]{0,6})?(\+rke2r[0-9]{0,3})?`),
		).Draw(t, "version")
		if v, err := Parse(s); err == nil && v.String() != s {
			t.Fatalf("Parse(%q).String() = %q", s, v.String())
		}
	})
}

// ascending is in order, each later than the one before.
var ascending = []string{
	"v1.33.13+rke2r2",
	"v1.34.2-rc2+rke2r1",
	"v1.34.2-rc10+rke2r1",
	"v1.34.2+rke2r1",
	"v1.34.2+rke2r2",
	"v1.34.2+rke2r10",
	"v1.34.10+rke2r1",
	"v1.36.0-1+rke2r1",
	"v1.36.0-alpha+rke2r1",
	"v1.36.0-alpha.1+rke2r1",
	"v1.36.0-beta+rke2r1",
	"v1.36.0-rc1+rke2r1",
	"v1.36.0-rc1+rke2r2",
	"v1.36.0+rke2r1",
	"v2.0.0+rke2r1",
}

func TestCompare(t *testing.T) {
	for i, a := range ascending {
		for j, b := range ascending {
			want := min(1, max(-1, i-j))
			if got := must(t, a).Compare(must(t, b)); got != want {
				t.Errorf("Compare(%s, %s) = %d, want %d", a, b, got, want)
			}
		}
	}
	shuffled := slices.Clone(ascending)
	slices.Sort(shuffled)
	slices.SortFunc(shuffled, func(a, b string) int { return must(t, a).Compare(must(t, b)) })
	if !slices.Equal(shuffled, ascending) {
		t.Errorf("sorted: %v", shuffled)
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) Version {
		return Version{
			Major: 1, Minor: rapid.IntRange(0, 1).Draw(t, "minor"),
			Pre:     rapid.SampledFrom([]string{"", "1", "1.a", "a", "a1", "a2", "a10", "a01", "rc.1", "rc.10"}).Draw(t, "pre"),
			Release: rapid.IntRange(1, 2).Draw(t, "release"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw.Draw(t, "a"), draw.Draw(t, "b"), draw.Draw(t, "c")
		if a.Compare(b) != -b.Compare(a) {
			t.Fatalf("not antisymmetric: %s, %s", a, b)
		}
		if (a.Compare(b) == 0) != (a == b) {
			t.Fatalf("level but not the same: %s, %s", a, b)
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatalf("not transitive: %s, %s, %s", a, b, c)
		}
	})
}

func TestZero(t *testing.T) {
	if !(Version{}).IsZero() || must(t, "v1.36.3+rke2r1").IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		from, to        string
		downgrade, skip bool
	}{
		{"v1.35.7+rke2r1", "v1.36.3+rke2r1", false, false},
		{"v1.34.2+rke2r1", "v1.36.3+rke2r1", false, true},
		{"v1.36.3+rke2r1", "v1.36.3+rke2r2", false, false},
		{"v1.36.3+rke2r2", "v1.36.3+rke2r1", false, false},
		{"v1.36.3+rke2r1", "v1.36.2+rke2r1", true, false},
		{"v1.36.0+rke2r1", "v1.36.0-rc1+rke2r1", false, false},
		{"v1.36.3+rke2r1", "v1.35.7+rke2r1", true, false},
		{"v1.36.3+rke2r1", "v2.0.0+rke2r1", false, true},
		{"v2.0.0+rke2r1", "v1.36.3+rke2r1", true, false},
	} {
		from, to := must(t, c.from), must(t, c.to)
		if got := IsDowngrade(from, to); got != c.downgrade {
			t.Errorf("IsDowngrade(%s, %s) = %v", c.from, c.to, got)
		}
		if got := SkipsMinor(from, to); got != c.skip {
			t.Errorf("SkipsMinor(%s, %s) = %v", c.from, c.to, got)
		}
	}
}

func TestAgentAllowed(t *testing.T) {
	for _, c := range []struct {
		agent, servers string
		want           bool
	}{
		{"v1.36.3+rke2r1", "v1.36.0+rke2r1", true},
		{"v1.33.3+rke2r1", "v1.36.0+rke2r1", true},
		{"v1.32.3+rke2r1", "v1.36.0+rke2r1", false},
		{"v1.37.0+rke2r1", "v1.36.0+rke2r1", false},
		{"v2.36.0+rke2r1", "v1.36.0+rke2r1", false},
	} {
		if got := AgentAllowed(must(t, c.agent), must(t, c.servers)); got != c.want {
			t.Errorf("AgentAllowed(%s, %s) = %v", c.agent, c.servers, got)
		}
	}
}

func TestEtcdIn(t *testing.T) {
	for in, want := range map[string]Etcd{
		"v1.31.14+rke2r1":    EtcdUnknown,
		"v1.32.0+rke2r1":     Etcd35Early,
		"v1.32.10+rke2r1":    Etcd35Early,
		"v1.32.11+rke2r1":    Etcd35Early,
		"v1.32.11+rke2r2":    EtcdUnknown,
		"v1.32.11+rke2r3":    Etcd35Late,
		"v1.32.12+rke2r1":    EtcdUnknown,
		"v1.33.0+rke2r1":     Etcd35Early,
		"v1.33.7+rke2r1":     Etcd35Early,
		"v1.33.7+rke2r2":     EtcdUnknown,
		"v1.33.7+rke2r3":     Etcd35Late,
		"v1.33.10+rke2r3":    Etcd35Late,
		"v1.33.11+rke2r1":    Etcd36,
		"v1.33.13+rke2r2":    Etcd36,
		"v1.34.1+rke2r1":     Etcd36,
		"v1.36.3+rke2r1":     Etcd36,
		"v1.36.0-rc1+rke2r1": EtcdUnknown,
		"v1.37.0+rke2r1":     EtcdUnknown,
		"v2.33.0+rke2r1":     EtcdUnknown,
	} {
		if got := EtcdIn(must(t, in)); got != want {
			t.Errorf("EtcdIn(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestRiskyEtcdStep(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"v1.33.6+rke2r1", "v1.33.12+rke2r1", true},
		{"v1.33.10+rke2r3", "v1.33.12+rke2r1", false},
		{"v1.33.6+rke2r1", "v1.33.10+rke2r3", false},
		{"v1.31.1+rke2r1", "v1.36.0+rke2r1", false},
		{"v1.36.3+rke2r1", "v1.36.3+rke2r2", false},
	} {
		if got := RiskyEtcdStep(must(t, c.from), must(t, c.to)); got != c.want {
			t.Errorf("RiskyEtcdStep(%s, %s) = %v", c.from, c.to, got)
		}
	}
}

func must(t *testing.T, s string) Version {
	t.Helper()
	v, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
