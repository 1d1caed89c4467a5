// Package beside finds what `make build` puts into one folder with the laboratory's program.
package beside

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir returns the folder of this program.
func Dir() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find own program file: %w", err)
	}
	return filepath.Dir(self), nil
}

// Program returns the file of another program that was built beside this one. The error says what to do when there is none.
func Program(name string) (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s is missing; run `make build`: %w", name, err)
	}
	return file, nil
}
