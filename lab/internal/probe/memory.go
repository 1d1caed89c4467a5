package probe

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memoryPeriod is how often the memory of all processes is summed: the kernel takes a tenth of a second of a processor
// for three gigabytes.
const memoryPeriod = 15 * time.Second

// Memory meters the memory of process trees: the sum of their proportional set sizes, so shared pages count once.
type Memory struct {
	mu   sync.Mutex
	last int64
	peak int64
}

// MeterMemory sums the memory of the given processes and of all their descendants every memoryPeriod until ctx ends.
func MeterMemory(ctx context.Context, roots func() []int) *Memory {
	m := &Memory{}
	go func() {
		tick := time.NewTicker(memoryPeriod)
		defer tick.Stop()
		for {
			m.take(sumPSS("/proc", roots()))
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return m
}

func (m *Memory) take(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = bytes
	m.peak = max(m.peak, bytes)
}

// Peak returns the highest sum seen, in bytes.
func (m *Memory) Peak() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.peak
}

// sumPSS adds up the Pss lines of smaps_rollup of the trees below roots. Processes that end meanwhile count nothing.
func sumPSS(proc string, roots []int) int64 {
	children := childrenOf(proc)
	var sum int64
	visited := map[int]bool{}
	stack := append([]int(nil), roots...)
	for len(stack) > 0 {
		pid := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if visited[pid] {
			continue
		}
		visited[pid] = true
		sum += pss(proc, pid)
		stack = append(stack, children[pid]...)
	}
	return sum
}

func childrenOf(proc string) map[int][]int {
	out := map[int][]int{}
	stats, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat"))
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		// The command name in parentheses may hold anything; the parent is the second field after it.
		fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			out[parent] = append(out[parent], pid)
		}
	}
	return out
}

func pss(proc string, pid int) int64 {
	f, err := os.Open(filepath.Join(proc, strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
