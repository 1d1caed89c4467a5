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

// Reconciles asks a manager at an address (IP:PORT) how often its controllers have looked at an object so far.
func Reconciles(ctx context.Context, dial DialFunc, address string) (int, error) {
	httpClient := &http.Client{Timeout: clientTimeout, Transport: &http.Transport{DialContext: dial}}
	defer httpClient.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", address, err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", address, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics of %s: %s", address, response.Status)
	}
	return reconcileCount(response.Body)
}

// reconcileCount sums controller_runtime_reconcile_total over all controllers and results.
func reconcileCount(r io.Reader) (int, error) {
	sum := 0
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "controller_runtime_reconcile_total{") {
			continue
		}
		_, value, ok := strings.Cut(lines.Text(), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil {
			return 0, fmt.Errorf("cannot read metric line %q", lines.Text())
		}
		sum += int(n)
	}
	return sum, lines.Err()
}
