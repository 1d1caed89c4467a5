package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Activity is what a manager has counted since it started.
type Activity struct {
	// Reconciles is how often its controllers have looked at an object.
	Reconciles int
	// Reads and Writes are its requests to one API server, those of its caches included.
	Reads, Writes int
}

// Since is what was counted since an earlier look.
func (a Activity) Since(before Activity) Activity {
	return Activity{
		Reconciles: a.Reconciles - before.Reconciles, Reads: a.Reads - before.Reads, Writes: a.Writes - before.Writes,
	}
}

// ReadActivity asks a manager at an address (IP:PORT) for its counters. Requests are those to the API server at host
// (NAME:PORT as in its kubeconfig).
func ReadActivity(ctx context.Context, dial DialFunc, address, host string) (Activity, error) {
	none := Activity{}
	httpClient := &http.Client{Timeout: clientTimeout, Transport: &http.Transport{DialContext: dial}}
	defer httpClient.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return none, fmt.Errorf("metrics of %s: %w", address, err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return none, fmt.Errorf("metrics of %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return none, fmt.Errorf("metrics of %s: %s", address, response.Status)
	}
	return activityOf(response.Body, host)
}

// activityOf sums controller_runtime_reconcile_total over all controllers and results, and rest_client_requests_total of
// one host over all answers.
func activityOf(r io.Reader, host string) (Activity, error) {
	var out Activity
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		if name != "controller_runtime_reconcile_total" && name != "rest_client_requests_total" {
			continue
		}
		labels, value, ok := strings.Cut(rest, "} ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case !ok || err != nil:
			return Activity{}, fmt.Errorf("cannot read metric line %q", lines.Text())
		case name == "controller_runtime_reconcile_total":
			out.Reconciles += int(n)
		case !strings.Contains(labels, `host="`+host+`"`):
			// Another API server.
		case strings.Contains(labels, `method="GET"`):
			out.Reads += int(n)
		default:
			out.Writes += int(n)
		}
	}
	return out, lines.Err()
}
