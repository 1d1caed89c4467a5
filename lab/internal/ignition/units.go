package ignition

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_3/types"
	"k8s.io/utils/ptr"

	"github.com/drover-project/drover/lab/internal/paths"
	"github.com/drover-project/drover/lab/internal/userdata"
)

// writeUnits writes units, and the preset by which the service manager enables
// them at the machine's first boot. It is written even if it is empty: a machine
// sees the one of the computer that the lab runs on, if that has one.
func writeUnits(root string, units []types.Unit) error {
	var preset strings.Builder
	for _, unit := range units {
		if err := writeUnit(root, unit); err != nil {
			return fmt.Errorf("systemd.units (%s): %w", unit.Name, err)
		}
		if unit.Enabled != nil {
			verb := "disable"
			if *unit.Enabled {
				verb = "enable"
			}
			fmt.Fprintf(&preset, "%s %s\n", verb, unit.Name)
		}
	}
	return writeUnitFile(root, paths.PresetFile, preset.String())
}

func writeUnit(root string, unit types.Unit) error {
	path := filepath.Join(paths.LocalUnitDir, unit.Name)
	for _, dropin := range unit.Dropins {
		if content := ptr.Deref(dropin.Contents, ""); content != "" {
			if err := writeUnitFile(root, filepath.Join(path+".d", dropin.Name), content); err != nil {
				return err
			}
		}
	}
	if content := ptr.Deref(unit.Contents, ""); content != "" {
		if err := writeUnitFile(root, path, content); err != nil {
			return err
		}
	}
	if unit.Mask == nil {
		return nil
	}
	return mask(filepath.Join(root, path), *unit.Mask)
}

// writeUnitFile takes the place of whatever is there: units need no overwrite.
func writeUnitFile(root, path, content string) error {
	if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
		return err
	}
	// Without an owner it is root's, as whoever writes it is.
	_, err := userdata.File{Path: path, Content: []byte(content), Mode: defaultFileMode}.Write(root)
	return err
}

func mask(path string, masked bool) error {
	if !masked {
		if target, err := os.Readlink(path); err == nil && target == os.DevNull {
			return os.Remove(path)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), defaultDirectoryMode); err != nil {
		return err
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	return os.Symlink(os.DevNull, path)
}
