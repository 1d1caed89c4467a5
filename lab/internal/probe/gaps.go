package probe

import (
	"sync"
	"time"
)

// worthShowing is the gap from which a client's silence is put on the timeline. The clients ask every half second.
const worthShowing = time.Second

// Answers keeps the times at which a client got an answer and finds the gaps between them.
type Answers struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
	count   int
	failed  int
	lastErr string
}

// Start sets the moment from which the first gap counts.
func (a *Answers) Start(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = at
}

// Got records an answer and returns the start of the gap that it ends, and whether that gap is worth showing.
func (a *Answers) Got(at time.Time) (since time.Time, show bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	since = a.last
	gap := at.Sub(since)
	a.longest = max(a.longest, gap)
	a.last = at
	return since, gap >= worthShowing
}

// Failed records a request without a usable answer.
func (a *Answers) Failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed++
	a.lastErr = err.Error()
}

// Figures is the outcome of one client.
type Figures struct {
	// Longest is the longest time between two answers, the silence that still lasts at the end included.
	Longest  time.Duration
	Answered int
	Failed   int
	// LastError is the text of the last failure, for reading only.
	LastError string
}

// Figures reads the outcome as of now.
func (a *Answers) Figures(now time.Time) Figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	longest := a.longest
	if !a.last.IsZero() {
		longest = max(longest, now.Sub(a.last))
	}
	return Figures{Longest: longest, Answered: a.count, Failed: a.failed, LastError: a.lastErr}
}
