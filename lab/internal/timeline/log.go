package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Log collects the events of one run. It is safe for use by many goroutines.
type Log struct {
	mu        sync.Mutex
	events    []Event
	listeners []func(Event)
}

// Append adds an event, sets At to now when it is zero, and tells the listeners.
func (l *Log) Append(e Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	l.mu.Lock()
	l.events = append(l.events, e)
	listeners := l.listeners
	l.mu.Unlock()
	for _, tell := range listeners {
		tell(e)
	}
}

// Listen calls tell for every event from now on, on the goroutine that appends it; tell must be quick.
func (l *Log) Listen(tell func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listeners = append(slices.Clone(l.listeners), tell)
}

// Events returns a copy of all events, ordered by time.
func (l *Log) Events() []Event {
	l.mu.Lock()
	out := slices.Clone(l.events)
	l.mu.Unlock()
	slices.SortStableFunc(out, func(a, b Event) int { return a.At.Compare(b.At) })
	return out
}

// WriteJSON writes the events as one JSON object per line.
func (l *Log) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, e := range l.Events() {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("write event log: %w", err)
		}
	}
	return nil
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(r io.Reader) ([]Event, error) {
	var out []Event
	dec := json.NewDecoder(bufio.NewReader(r))
	for {
		var e Event
		err := dec.Decode(&e)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read event log, entry %d: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
}
