package story

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

// Result is the outcome of one story, as one row of the table that many stories end with.
type Result struct {
	Story string `json:"story"`
	OK    bool   `json:"ok"`
	// Took is the time from the story's beginning to the end of its laboratory.
	Took time.Duration `json:"took"`
	// WriteGap and ReadGap are the longest silences of the clients through the load balancer; 0 without clients.
	WriteGap time.Duration `json:"writeGap,omitempty"`
	ReadGap  time.Duration `json:"readGap,omitempty"`
	// Calls are the member calls that were seen, and Departed the servers that left.
	Calls    int `json:"calls"`
	Departed int `json:"departed"`
	// Memory is the peak of all processes' memory, in bytes.
	Memory int64 `json:"memory"`
}

// clients takes over what the clients saw; of several, the worst counts.
func (r *Result) clients(write, read time.Duration) {
	r.WriteGap, r.ReadGap = max(r.WriteGap, write), max(r.ReadGap, read)
}

// writeResult appends the run's outcome to a file; "" names none.
func (r *Run) writeResult(s Story, ok bool, file string) (err error) {
	if file == "" {
		return nil
	}
	result := r.result
	result.Story, result.OK, result.Took = s.Name, ok, time.Since(r.start)
	for _, d := range timeline.Departures(r.Log.Events()) {
		result.Calls += len(d.Calls)
		result.Departed++
	}
	if r.memory != nil {
		result.Memory = r.memory.Peak()
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := json.NewEncoder(f).Encode(result); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// ReadResults reads what stories have appended to a file. A file that is not there holds none.
func ReadResults(file string) (results []Result, err error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for d := json.NewDecoder(f); ; {
		var result Result
		switch err := d.Decode(&result); {
		case errors.Is(err, io.EOF):
			return results, nil
		case err != nil:
			return nil, fmt.Errorf("read results of %s: %w", file, err)
		}
		results = append(results, result)
	}
}

// Table prints the results below each other.
func Table(w io.Writer, results []Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "story\tresult\tduration\tlongest write gap\tlongest read gap\tmember calls\tmemory")
	for _, r := range results {
		verdict := "FAIL"
		if r.OK {
			verdict = "PASS"
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%.2f GiB\n", r.Story, verdict, r.Took.Round(time.Second),
			gapText(r.WriteGap), gapText(r.ReadGap), callsText(r), float64(r.Memory)/(1<<30))
	}
	return tw.Flush()
}

func gapText(gap time.Duration) string {
	if gap == 0 {
		return "-"
	}
	return gap.Round(10 * time.Millisecond).String()
}

func callsText(r Result) string {
	if r.Departed == 0 {
		return "-"
	}
	return fmt.Sprintf("%d for %d servers", r.Calls, r.Departed)
}
