package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	// etcdLogPeriod is how often the logs are read. They keep their time stamps, so it only has to be shorter than a
	// machine's remaining life after it noted a removal: the next machine leaves after a drain at the soonest.
	etcdLogPeriod  = 20 * time.Second
	etcdLogTimeout = 10 * time.Second
	// removedMessage is what every member notes when it applies a removal (etcd 3.6: server/etcdserver/api/membership).
	removedMessage = "removed member"
	// etcdStampLayout is that of etcd's logger.
	etcdStampLayout = "2006-01-02T15:04:05.999999Z0700"
)

// etcdLogCommand prints the lines of removals from the log of a machine's member; machines without one print nothing.
var etcdLogCommand = []string{"/bin/sh", "-c", "exec grep -hsF '\"msg\":\"" + removedMessage + "\"' /var/log/pods/kube-system_etcd-*/etcd/*.log"}

// Machinery is what the logs are read through.
type Machinery interface {
	MachineNames(ctx context.Context) ([]string, error)
	Exec(ctx context.Context, machine string, argv ...string) (output string, exitCode int, err error)
}

// EtcdLogs takes the moments at which members went from etcd's own logs: a look at the member list comes late when the
// computer is busy, a time stamp does not.
type EtcdLogs struct {
	lab     Machinery
	members *Membership
	log     *timeline.Log

	mu sync.Mutex
	// told is the earliest time stamp of each removal so far.
	told map[uint64]time.Time
}

// FollowEtcdLogs reads the logs of all machines of the laboratory until ctx ends.
func FollowEtcdLogs(ctx context.Context, lab Machinery, members *Membership, log *timeline.Log) *EtcdLogs {
	l := &EtcdLogs{lab: lab, members: members, log: log, told: map[uint64]time.Time{}}
	go every(ctx, etcdLogPeriod, func() { l.Read(ctx) })
	return l
}

// Read reads all logs once more.
func (l *EtcdLogs) Read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, etcdLogTimeout)
	defer cancel()
	machines, err := l.lab.MachineNames(ctx)
	if err != nil {
		return // it is read again, and a removal that is in no log is dated by the member list
	}
	for _, machine := range machines {
		output, _, err := l.lab.Exec(ctx, machine, etcdLogCommand...)
		if err != nil {
			continue // the machine has ended, or does so; the other members noted the same
		}
		for _, r := range removalsIn(output) {
			l.take(r)
		}
	}
}

// take notes a removal of a member of this cluster, unless an earlier stamp of it is known.
func (l *EtcdLogs) take(r removal) {
	member, ok := l.members.Known(r.id)
	if !ok {
		return
	}
	l.mu.Lock()
	known, again := l.told[r.id]
	first := !again || r.at.Before(known)
	if first {
		l.told[r.id] = r.at
	}
	l.mu.Unlock()
	if first {
		l.log.Append(timeline.Event{Kind: timeline.MemberRemoved, At: r.at, Node: member.Node, Object: member.Name})
	}
}

// removal is one line of a member's log.
type removal struct {
	id uint64
	at time.Time
}

// removalsIn finds the removals in the log of a container. Lines of anything else are passed over.
func removalsIn(text string) []removal {
	var out []removal
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		// The container runtime puts its own time, the stream and a flag before the line.
		_, line, ok := strings.Cut(lines.Text(), "{")
		if !ok {
			continue
		}
		if r, err := removalOf("{" + line); err == nil {
			out = append(out, r)
		}
	}
	return out
}

func removalOf(line string) (removal, error) {
	var entry struct {
		TS      string `json:"ts"`
		Msg     string `json:"msg"`
		Removed string `json:"removed-remote-peer-id"`
	}
	if err := json.Unmarshal([]byte(line), &entry); err != nil {
		return removal{}, fmt.Errorf("read etcd's log: %w", err)
	}
	if entry.Msg != removedMessage {
		return removal{}, fmt.Errorf("%q is no removal", entry.Msg)
	}
	at, err := time.Parse(etcdStampLayout, entry.TS)
	if err != nil {
		return removal{}, fmt.Errorf("read etcd's time stamp: %w", err)
	}
	id, err := strconv.ParseUint(entry.Removed, 16, 64)
	if err != nil {
		return removal{}, fmt.Errorf("read the member's ID: %w", err)
	}
	return removal{id: id, at: at}, nil
}
