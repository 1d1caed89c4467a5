package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drover-project/drover/lab/internal/paths"
)

const wantsDir = paths.LocalUnitDir + "/multi-user.target.wants"

// unitFile says where a unit's file is and what it says, which is all the
// service manager needs to know of it.
type unitFile struct {
	path   string // "" when there is none
	masked bool
}

func findUnitFile(name string) unitFile {
	file := name + ".service"
	local := filepath.Join(paths.LocalUnitDir, file)
	if target, err := os.Readlink(local); err == nil && target == os.DevNull {
		return unitFile{path: local, masked: true}
	}
	for _, path := range []string{local, filepath.Join(paths.UnitDir, file)} {
		if _, err := os.Stat(path); err == nil {
			return unitFile{path: path}
		}
	}
	return unitFile{}
}

func enableUnit(name string) error {
	file := findUnitFile(name)
	switch {
	case file.path == "":
		return fmt.Errorf("Failed to enable unit: Unit file %s.service does not exist.", name) //nolint:staticcheck // systemd's own words
	case file.masked:
		return fmt.Errorf("Failed to enable unit: Unit file %s is masked.", file.path) //nolint:staticcheck // systemd's own words
	}
	if err := os.MkdirAll(wantsDir, 0o755); err != nil {
		return err
	}
	err := os.Symlink(file.path, filepath.Join(wantsDir, name+".service"))
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

func disableUnit(name string) error {
	err := os.Remove(filepath.Join(wantsDir, name+".service"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func unitEnabled(name string) bool {
	_, err := os.Lstat(filepath.Join(wantsDir, name+".service"))
	return err == nil
}

func maskUnit(name string) error {
	if findUnitFile(name).masked {
		return nil
	}
	if err := os.MkdirAll(paths.LocalUnitDir, 0o755); err != nil {
		return err
	}
	local := filepath.Join(paths.LocalUnitDir, name+".service")
	err := os.Symlink(os.DevNull, local)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("Failed to mask unit: File %s already exists.", local) //nolint:staticcheck // systemd's own words
	}
	return err
}

func unmaskUnit(name string) error {
	if !findUnitFile(name).masked {
		return nil
	}
	return os.Remove(filepath.Join(paths.LocalUnitDir, name+".service"))
}

// unitEnvironment reads the environment files which RKE2's units name, the
// later ones winning. All of them are optional.
func unitEnvironment(name string) ([]string, error) {
	var environment []string
	for _, path := range []string{
		"/etc/default/" + name,
		"/etc/sysconfig/" + name,
		filepath.Join(paths.UnitDir, name+".env"),
	} {
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("environment of %s: %w", name, err)
		}
		environment = append(environment, parseEnvironment(string(data))...)
	}
	return environment, nil
}

// parseEnvironment reads lines NAME=VALUE; VALUE may stand in one pair of
// quotes. Like systemd it passes over comments and lines without a "=".
func parseEnvironment(text string) []string {
	var environment []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, found := strings.Cut(line, "=")
		if !found || name == "" {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		environment = append(environment, name+"="+value)
	}
	return environment
}
