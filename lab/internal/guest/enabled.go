package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/drover-project/drover/lab/internal/paths"
)

// startEnabled does what systemd does at a machine's first boot: it enables what
// the preset says and starts it, one after the other. A service that fails does
// not keep the next from being started. What was enabled before is not started:
// a machine sees the units of the computer that the lab runs on.
func (m *manager) startEnabled(ctx context.Context) error {
	enabled, err := applyPreset()
	if err != nil {
		return err
	}
	names, err := ordered(enabled)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		s, err := m.find(name)
		if err != nil {
			consolef("%s.service is not started: %v", name, err)
			continue
		}
		if err := m.start(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("%s.service: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// applyPreset enables and disables services as Ignition noted it down, and
// returns those that are enabled now. Like systemd it passes over those that do
// not exist.
func applyPreset() ([]string, error) {
	data, err := os.ReadFile(paths.PresetFile)
	if err != nil {
		return nil, fmt.Errorf("preset: %w", err)
	}
	var enabled []string
	for line := range strings.Lines(string(data)) {
		verb, unit, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, isService := strings.CutSuffix(unit, ".service")
		var err error
		switch {
		case !isService:
			err = fmt.Errorf("%s %s has no effect: a lab machine has services only", verb, unit)
		case verb == "disable":
			err = disableUnit(name)
		default:
			if err = enableUnit(name); err == nil {
				enabled = append(enabled, name)
			}
		}
		if err != nil {
			consolef("%v", err)
		}
	}
	return enabled, nil
}

// ordered returns services, each after those that it is to come after.
func ordered(names []string) ([]string, error) {
	units := map[string]unitSettings{}
	for _, name := range names {
		settings, err := readUnit(name)
		if err != nil {
			return nil, err
		}
		units[name] = settings
	}
	return inOrder(units), nil
}

// inOrder sorts units by name and by what they say about their order. Where they
// contradict each other the name decides.
func inOrder(units map[string]unitSettings) []string {
	left := make([]string, 0, len(units))
	for name := range units {
		left = append(left, name)
	}
	slices.Sort(left)
	order := make([]string, 0, len(left))
	for len(left) > 0 {
		next := max(0, slices.IndexFunc(left, func(name string) bool {
			return !slices.ContainsFunc(left, func(other string) bool {
				return slices.Contains(units[name].after, other) || slices.Contains(units[other].before, name)
			})
		}))
		order = append(order, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return order
}
