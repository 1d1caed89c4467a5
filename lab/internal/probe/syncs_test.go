package probe

import (
	"strings"
	"testing"
	"time"
)

func TestSyncsAreRead(t *testing.T) {
	const text = `# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 7
etcd_disk_wal_fsync_duration_seconds_sum 2.5
etcd_disk_wal_fsync_duration_seconds_count 10
`
	got, err := readSyncs(strings.NewReader(text))
	if err != nil || got != (Syncs{Count: 10, Total: 2500 * time.Millisecond}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if average, n := got.Since(Syncs{Count: 5, Total: time.Second}); average != 300*time.Millisecond || n != 5 {
		t.Errorf("average %s of %d", average, n)
	}
	if average, n := got.Since(got); average != 0 || n != 0 {
		t.Errorf("without a sync: average %s of %d", average, n)
	}
	if _, err := readSyncs(strings.NewReader("etcd_disk_wal_fsync_duration_seconds_sum 1\n")); err == nil {
		t.Error("half of it is no answer")
	}
}
