package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Syncs is what a member's etcd has counted of the synchronisations of its write-ahead log since it started
// (etcd_disk_wal_fsync_duration_seconds).
type Syncs struct {
	Count int
	Total time.Duration
}

// Since tells how long a synchronisation took on average since an earlier look, and how many there were.
func (s Syncs) Since(before Syncs) (average time.Duration, count int) {
	count = s.Count - before.Count
	if count <= 0 {
		return 0, 0
	}
	return (s.Total - before.Total) / time.Duration(count), count
}

// ReadSyncs reads the counters of the member at an IP address. It must expose its metrics.
func ReadSyncs(ctx context.Context, dial DialFunc, ip string) (Syncs, error) {
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	return scrape(ctx, &http.Client{Timeout: 10 * time.Second, Transport: transport}, ip, readSyncs)
}

func readSyncs(r io.Reader) (Syncs, error) {
	const name = "etcd_disk_wal_fsync_duration_seconds_"
	var out Syncs
	found := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		which, ok := strings.CutPrefix(lines.Text(), name)
		if !ok {
			continue
		}
		which, text, _ := strings.Cut(which, " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case which != "sum" && which != "count":
			continue
		case err != nil:
			return Syncs{}, fmt.Errorf("cannot read metric line %q", lines.Text())
		case which == "sum":
			out.Total = time.Duration(value * float64(time.Second))
		default:
			out.Count = int(value)
		}
		found++
	}
	if err := lines.Err(); err != nil {
		return Syncs{}, fmt.Errorf("read metrics: %w", err)
	}
	if found != 2 {
		return Syncs{}, fmt.Errorf("read metrics: %d of 2 lines of %s", found, name)
	}
	return out, nil
}
