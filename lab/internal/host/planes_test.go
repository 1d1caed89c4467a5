package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestManagementClustersAreStartedOnce(t *testing.T) {
	var m managements
	var started []string
	add := func(name, want string) {
		t.Helper()
		if got := fmt.Sprint(m.add(t.Context(), name)); !strings.HasPrefix(got, want) {
			t.Errorf("add %q: %s, want %s", name, got, want)
		}
	}
	add("second", "the lab is still starting")
	m.startWith(func(_ context.Context, name string) error {
		started = append(started, name)
		if name == "broken" {
			return errors.New("no address is left")
		}
		return nil
	})
	add("second", "<nil>")
	add("second", "a management cluster second was started already")
	add("third", "<nil>")
	add("broken", "start management cluster broken: no address is left")
	add("broken", "a management cluster broken was started already")
	for _, name := range []string{"", "../up", "Second", "a/b"} {
		add(name, fmt.Sprintf("the name %q of a management cluster must be a DNS label", name))
	}
	if got := strings.Join(started, " "); got != "second third broken" {
		t.Errorf("started %s", got)
	}
}
