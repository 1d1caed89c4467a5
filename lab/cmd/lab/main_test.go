package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestFindApplet(t *testing.T) {
	for name, test := range map[string]struct {
		args  []string
		found bool
		rest  []string
	}{
		"by name":             {[]string{"/run/lab/bin/systemctl", "start", "x"}, true, []string{"start", "x"}},
		"by first argument":   {[]string{"/work/bin/lab", "systemctl", "start"}, true, []string{"start"}},
		"a command of people": {[]string{"lab", "up"}, false, nil},
		"nothing":             {[]string{"lab"}, false, nil},
		"an argument later":   {[]string{"lab", "machine", "exec", "m", "curl"}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run, rest, found := findApplet(test.args)
			if found != test.found || (run != nil) != test.found || cmp.Diff(test.rest, rest) != "" {
				t.Errorf("found %v, rest %q", found, rest)
			}
		})
	}
}

func TestSplitFlagsLeavesKubectlItsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		own  kubectlFlags
		rest []string
	}{
		"none":          {[]string{"get", "pods", "--cluster", "x"}, kubectlFlags{}, []string{"get", "pods", "--cluster", "x"}},
		"both":          {[]string{"--dir", "d", "--cluster=c", "get", "-n", "x"}, kubectlFlags{dir: "d", cluster: "c"}, []string{"get", "-n", "x"}},
		"kubectl first": {[]string{"-n", "x", "get"}, kubectlFlags{}, []string{"-n", "x", "get"}},
		"management":    {[]string{"--management", "second", "get"}, kubectlFlags{management: "second"}, []string{"get"}},
		"help":          {[]string{"--help"}, kubectlFlags{help: true}, []string{"--help"}},
		"no value":      {[]string{"--cluster"}, kubectlFlags{}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			own, rest := splitFlags(test.args)
			if own != test.own || cmp.Diff(test.rest, rest) != "" {
				t.Errorf("own %+v, rest %q", own, rest)
			}
		})
	}
}

func TestClusterKey(t *testing.T) {
	for text, want := range map[string]*client.ObjectKey{
		"":         nil,
		"demo":     {Namespace: "default", Name: "demo"},
		"ns/other": {Namespace: "ns", Name: "other"},
	} {
		if diff := cmp.Diff(want, clusterKey(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
