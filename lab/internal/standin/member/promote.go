package member

import (
	"context"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// promoteEvery is how often the leader's node tries. RKE2 does so every
	// 15 s; the lab is quicker, since nothing is learned from the waiting.
	promoteEvery = time.Second
	// stallLimit is how long a learner may make no progress before RKE2
	// removes it.
	stallLimit = 5 * time.Minute
)

// Promoter promotes learners while the local member leads.
type Promoter struct {
	Client *clientv3.Client
	Log    *slog.Logger

	progress map[uint64]stall
}

type stall struct {
	index uint64
	since time.Time
}

// Run promotes until the context ends.
func (p *Promoter) Run(ctx context.Context) {
	p.progress = map[uint64]stall{}
	tick := time.NewTicker(promoteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.round(ctx)
		}
	}
}

func (p *Promoter) round(ctx context.Context) {
	if leads, err := Leads(ctx, p.Client); err != nil || !leads {
		return
	}
	members, err := List(ctx, p.Client)
	if err != nil {
		return
	}
	for _, m := range members {
		if !m.IsLearner {
			delete(p.progress, m.ID)
			continue
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := p.Client.MemberPromote(call, m.ID)
		cancel()
		if err == nil {
			p.Log.Info("promoted learner", "member", m.Name)
			continue
		}
		if p.stalled(ctx, m.ID, m.ClientURLs) {
			p.Log.Warn("learner made no progress and is removed", "member", m.Name, "limit", stallLimit)
			call, cancel := context.WithTimeout(ctx, callTimeout)
			_, err = p.Client.MemberRemove(call, m.ID)
			cancel()
			if err != nil {
				p.Log.Warn("remove stalled learner", "error", err)
			}
		}
	}
}

// stalled notes a learner's progress and tells whether there was none for too
// long.
func (p *Promoter) stalled(ctx context.Context, id uint64, urls []string) bool {
	var index uint64
	if len(urls) > 0 {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		if s, err := p.Client.Status(ctx, urls[0]); err == nil {
			index = s.RaftAppliedIndex
		}
	}
	last, known := p.progress[id]
	if !known || index > last.index {
		p.progress[id] = stall{index: index, since: time.Now()}
		return false
	}
	return time.Since(last.since) > stallLimit
}
