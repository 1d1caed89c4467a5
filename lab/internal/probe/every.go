package probe

import (
	"context"
	"time"
)

// every calls do once a period until ctx ends, for the first time after one period.
func every(ctx context.Context, period time.Duration, do func()) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
