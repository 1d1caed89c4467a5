package guest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	systemd "github.com/coreos/go-systemd/v22/unit"

	"github.com/drover-project/drover/lab/internal/paths"
)

// unitSettings are the settings of a unit file, with its drop-ins, that the
// service manager acts on.
type unitSettings struct {
	kind        string // Type
	remain      bool   // RemainAfterExit
	commands    [][]string
	conditions  []string // of ConditionPathExists
	environment []string
	// after and before are names of services, without their ending.
	after, before []string
	// ignored are the names of settings without effect.
	ignored []string
}

// withoutEffect are settings that change nothing here that anybody could see: what
// they are about is always so on a lab machine, or is not there.
var withoutEffect = []string{
	"Description", "Documentation", "Wants", "WantedBy", "KillMode", "StandardOutput", "StandardError", "TimeoutStartSec",
}

// readUnit reads a unit's file and the drop-ins for it.
func readUnit(name string) (unitSettings, error) {
	settings := unitSettings{kind: "simple"}
	for _, path := range append([]string{findUnitFile(name).path}, dropins(name)...) {
		data, err := os.ReadFile(path)
		if err != nil {
			return unitSettings{}, fmt.Errorf("unit %s.service: %w", name, err)
		}
		if err := settings.add(data); err != nil {
			return unitSettings{}, fmt.Errorf("unit %s.service: %s: %w", name, path, err)
		}
	}
	return settings, nil
}

func dropins(name string) []string {
	// The pattern is well-formed, so there is no error.
	found, _ := filepath.Glob(filepath.Join(paths.LocalUnitDir, name+".service.d", "*.conf"))
	return found
}

func (s *unitSettings) add(data []byte) error {
	options, err := systemd.DeserializeOptions(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for _, option := range options {
		if err := s.set(option.Name, option.Value); err != nil {
			return fmt.Errorf("%s=: %w", option.Name, err)
		}
	}
	return nil
}

func (s *unitSettings) set(name, value string) error {
	switch name {
	case "Type":
		s.kind = value
	case "RemainAfterExit":
		s.remain = slices.Contains([]string{"yes", "true", "on", "1"}, strings.ToLower(value))
	case "ConditionPathExists":
		s.conditions = extend(s.conditions, value, value)
	case "After":
		s.after = extend(s.after, value, services(value)...)
	case "Before":
		s.before = extend(s.before, value, services(value)...)
	case "Environment":
		words, err := splitWords(value)
		s.environment = extend(s.environment, value, words...)
		return err
	case "ExecStart":
		words, err := splitWords(value)
		if err == nil && value != "" && !strings.HasPrefix(value, "/") {
			err = fmt.Errorf("a program has to be an absolute path, without quotes, unlike in %q", value)
		}
		s.commands = extend(s.commands, value, words)
		return err
	default:
		if !slices.Contains(withoutEffect, name) {
			s.ignored = append(s.ignored, name)
		}
	}
	return nil
}

// extend adds to a list. An empty value empties it, as it does for systemd.
func extend[T any](list []T, value string, more ...T) []T {
	if value == "" {
		return nil
	}
	return append(list, more...)
}

func services(value string) []string {
	var names []string
	for _, unit := range strings.Fields(value) {
		if name, ok := strings.CutSuffix(unit, ".service"); ok {
			names = append(names, name)
		}
	}
	return names
}

// splitWords splits at spaces outside of quotes. What systemd would expand or
// unescape is refused, so that nothing runs that means something else.
func splitWords(text string) ([]string, error) {
	if i := strings.IndexAny(text, `\$%`); i >= 0 {
		return nil, fmt.Errorf("a lab machine does not know the meaning of %q in %q", text[i], text)
	}
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	for _, r := range text {
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case quote == 0 && r == ' ':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// unmet returns the condition that keeps the unit from being started, "" if none does.
func (s *unitSettings) unmet() (string, error) {
	for _, condition := range s.conditions {
		path, negated := strings.CutPrefix(condition, "!")
		_, err := os.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("ConditionPathExists=%s: %w", condition, err)
		}
		if (err == nil) == negated {
			return "ConditionPathExists=" + condition, nil
		}
	}
	return "", nil
}
