package cri

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLine is how much of an unfinished line is kept back; longer lines are
// written in parts.
const maxLine = 16 << 10

// logFile is a container's log in the format that the kubelet reads:
// "<RFC 3339 time> <stdout|stderr> <F|P> <line>", P marking a part of a line.
type logFile struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// open starts the log, or goes on with that of an earlier start.
func (l *logFile) open() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return fmt.Errorf("folder of the log: %w", err)
	}
	file, err := l.create()
	l.file = file
	return err
}

// reopen makes a new file after the old one was moved away. It does nothing to
// a log that is closed.
func (l *logFile) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	file, err := l.create()
	if err != nil {
		return err
	}
	old := l.file
	l.file = file
	return old.Close()
}

func (l *logFile) create() (*os.File, error) {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return file, nil
}

// close ends the log. Each line is written at once, so nothing can be lost.
func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.file = nil
}

func (l *logFile) write(stream, tag string, line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errors.New("log is closed")
	}
	_, err := fmt.Fprintf(l.file, "%s %s %s %s\n", time.Now().UTC().Format(time.RFC3339Nano), stream, tag, line)
	return err
}

// stream returns a writer for one of a container's outputs. It is used by one
// goroutine at a time.
func (l *logFile) stream(name string) *logStream { return &logStream{log: l, name: name} }

type logStream struct {
	log  *logFile
	name string
	rest []byte // the line so far
}

// Write never fails: a log that cannot be written must not stop the container.
func (s *logStream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		line, rest, found := bytes.Cut(s.rest, []byte("\n"))
		if !found {
			break
		}
		_ = s.log.write(s.name, "F", line)
		s.rest = rest
	}
	if len(s.rest) > maxLine {
		_ = s.log.write(s.name, "P", s.rest)
		s.rest = nil
	}
	return len(p), nil
}

// flush writes what came after the last line feed.
func (s *logStream) flush() {
	if len(s.rest) > 0 {
		_ = s.log.write(s.name, "F", s.rest)
		s.rest = nil
	}
}
