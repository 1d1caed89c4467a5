package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/drover-project/drover/internal/trace"
)

// traceFile is the file of --decision-trace.
type traceFile struct {
	*trace.Writer
	file *os.File
}

// openTrace opens the file for appending, and makes it if it does not exist:
// for its owner only, as it says much about the clusters.
func openTrace(path string) (*traceFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--decision-trace: %w", err)
	}
	if err := endLine(file); err != nil {
		return nil, errors.Join(fmt.Errorf("--decision-trace: %w", err), file.Close())
	}
	return &traceFile{Writer: trace.NewWriter(file), file: file}, nil
}

// endLine ends the last line when a manager was killed while it wrote it.
func endLine(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size() == 0 {
		return nil
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, info.Size()-1); err != nil {
		return err
	}
	if last[0] == '\n' {
		return nil
	}
	_, err = file.WriteString("\n")
	return err
}

// Close writes what is still to be written.
func (t *traceFile) Close() error {
	if err := errors.Join(t.Flush(), t.file.Close()); err != nil {
		return fmt.Errorf("--decision-trace: %w", err)
	}
	return nil
}
