package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drover-project/drover/lab/internal/timeline"
)

const (
	metricsPort   = "2381"
	metricsPeriod = 5 * time.Second
)

// FollowRemovals counts the MemberRemove calls that the members' etcds answered, by etcd's own counter, until ctx ends.
// The members must expose their metrics (serverConfig.etcd.exposeMetrics). A counter ends with its process, so a call
// that a member answered in its last seconds can be missed; none is ever made up.
func FollowRemovals(ctx context.Context, dial DialFunc, addresses func() []string, log *timeline.Log) *Removals {
	r := &Removals{answered: map[string]bool{}}
	httpClient := &http.Client{Timeout: etcdTimeout, Transport: &http.Transport{DialContext: dial, IdleConnTimeout: 10 * time.Second}}
	go func() {
		defer httpClient.CloseIdleConnections()
		last := map[string]map[string]int{}
		every(ctx, metricsPeriod, func() {
			for _, ip := range addresses() {
				counts, err := scrape(ctx, httpClient, ip, removeCounts)
				if err != nil {
					continue // a member that does not answer has no count to give
				}
				for code, n := range increases(last[ip], counts) {
					log.Append(timeline.Event{Kind: timeline.RemoveRPC, Object: code, Detail: strconv.Itoa(n)})
				}
				last[ip] = counts
				r.heard(ip)
			}
		})
	}()
	return r
}

// Removals tells whose counts were read, so that "none counted" can be told from "none readable".
type Removals struct {
	mu       sync.Mutex
	answered map[string]bool
}

func (r *Removals) heard(ip string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered[ip] = true
}

// Members is the number of members, present and past, whose counts were read at least once.
func (r *Removals) Members() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.answered)
}

// scrape reads a member's metrics, in Prometheus text, with read.
func scrape[T any](ctx context.Context, c *http.Client, ip string, read func(io.Reader) (T, error)) (none T, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(ip, metricsPort)+"/metrics", nil)
	if err != nil {
		return none, fmt.Errorf("metrics of %s: %w", ip, err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return none, fmt.Errorf("metrics of %s: %w", ip, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return none, fmt.Errorf("metrics of %s: %s", ip, resp.Status)
	}
	return read(resp.Body)
}

// removeCounts reads grpc_server_handled_total of MemberRemove by gRPC code from Prometheus text.
func removeCounts(r io.Reader) (map[string]int, error) {
	out := map[string]int{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		labels, ok := strings.CutPrefix(lines.Text(), "grpc_server_handled_total{")
		if !ok || !strings.Contains(labels, `grpc_method="MemberRemove"`) {
			continue
		}
		labels, value, ok := strings.Cut(labels, "} ")
		_, code, found := strings.Cut(labels, `grpc_code="`)
		code, _, closed := strings.Cut(code, `"`)
		n, err := strconv.ParseFloat(value, 64)
		if !ok || !found || !closed || err != nil {
			return nil, fmt.Errorf("cannot read metric line %q", lines.Text())
		}
		if n > 0 {
			out[code] = int(n)
		}
	}
	return out, lines.Err()
}

// increases returns by how much each counter grew. A counter that shrank belongs to a new process and counts anew.
func increases(before, now map[string]int) map[string]int {
	out := map[string]int{}
	for code, n := range now {
		if was := before[code]; n > was {
			out[code] = n - was
		} else if n < was {
			out[code] = n
		}
	}
	return out
}
