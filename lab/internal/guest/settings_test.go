package guest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnitSettings(t *testing.T) {
	got := unitSettings{kind: "simple"}
	for _, text := range []string{`
[Unit]
Description=A test
After=network-online.target a.service b.service
ConditionPathExists=!/done
ConditionPathExists=/there
[Service]
Type=oneshot
RemainAfterExit=yes
Environment=A=1 "B=two words"
ExecStart=/bin/false
ExecStart=
ExecStart=/bin/sh -c "echo 'a  b'" ''
`, `
[Unit]
After=
After=c.service
Before=d.service
RequiresMountsFor=/var
`} {
		if err := got.add([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	want := unitSettings{
		kind: "oneshot", remain: true, commands: [][]string{{"/bin/sh", "-c", "echo 'a  b'", ""}},
		conditions: []string{"!/done", "/there"}, environment: []string{"A=1", "B=two words"},
		after: []string{"c"}, before: []string{"d"}, ignored: []string{"RequiresMountsFor"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(unitSettings{})); diff != "" {
		t.Error(diff)
	}
}

func TestUnitSettingsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"[Service]\nExecStart=/bin/echo $HOME\n": "ExecStart=: a lab machine does not know the meaning of '$'",
		"[Service]\nExecStart=/bin/echo 'a\n":    "ExecStart=: a quote is not closed",
		"[Service]\nEnvironment=NAME=%n\n":       "Environment=: a lab machine does not know the meaning of '%'",
		"[Service\nExecStart=/bin/true\n":        "unable to find end of section",
		"[Service]\nExecStart=-/bin/false\n":     "ExecStart=: a program has to be an absolute path, without quotes, unlike in \"-/bin/false\"",
	} {
		settings := unitSettings{}
		if err := settings.add([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestInOrder(t *testing.T) {
	got := inOrder(map[string]unitSettings{
		"a": {after: []string{"c", "elsewhere"}}, "b": {}, "c": {after: []string{"d"}}, "d": {}, "e": {before: []string{"b"}},
		"x": {after: []string{"y"}}, "y": {after: []string{"x"}},
	})
	if diff := cmp.Diff([]string{"d", "c", "a", "e", "b", "x", "y"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnmetCondition(t *testing.T) {
	there, absent := t.TempDir(), "/does/not/exist"
	for _, test := range []struct {
		conditions []string
		want       string
	}{
		{nil, ""},
		{[]string{there, "!" + absent}, ""},
		{[]string{there, absent}, "ConditionPathExists=" + absent},
		{[]string{"!" + there}, "ConditionPathExists=!" + there},
	} {
		settings := unitSettings{conditions: test.conditions}
		if got, err := settings.unmet(); err != nil || got != test.want {
			t.Errorf("%q: %q %v, want %q", test.conditions, got, err, test.want)
		}
	}
}
