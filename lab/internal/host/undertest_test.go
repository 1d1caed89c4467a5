package host

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/drover-project/drover/lab/internal/control"
)

type idle struct{}

func (idle) Stop() {}

func TestProviderUnderTestRunsAtMostOnce(t *testing.T) {
	var u underTest
	var asked []string
	expect := func(what string, err error, want string) {
		t.Helper()
		if got := fmt.Sprint(err); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	start := func(args ...string) error { return u.start(t.Context(), control.StartRequest{Args: args}) }

	expect("start before there is one", start(), "the lab has no provider under test, or is still starting")
	expect("stop before there is one", u.stop(), "no provider under test is running")
	broken := true
	u.startWith(func(_ context.Context, request control.StartRequest) (runningProvider, error) {
		asked = append(asked, request.Args...)
		if broken {
			return nil, errors.New("does not start")
		}
		return idle{}, nil
	})
	expect("start of one that fails", start("-a"), "does not start")
	broken = false
	expect("start", start("-b"), "<nil>")
	expect("start again", start("-c"), "the provider under test is running already")
	expect("stop", u.stop(), "<nil>")
	expect("stop again", u.stop(), "no provider under test is running")
	expect("start after a stop", start("-d"), "<nil>")
	if got := fmt.Sprint(asked); got != "[-a -b -d]" {
		t.Errorf("started with %s", got)
	}
}
