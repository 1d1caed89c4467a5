package control

import "errors"

// ErrNotFound is the cause of errors about machines that do not exist.
var ErrNotFound = errors.New("not found")

// NotFound marks an error as one about a machine that does not exist.
func NotFound(err error) error { return notFound{err} }

type notFound struct{ error }

// Is makes errors.Is find ErrNotFound.
func (notFound) Is(target error) bool { return target == ErrNotFound }

// Unwrap returns the marked error.
func (e notFound) Unwrap() error { return e.error }
