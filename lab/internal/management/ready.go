package management

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// probeTimeout bounds one question whether a program is ready.
const probeTimeout = 2 * time.Second

// httpOK asks a URL for the status 200.
func httpOK(url string) func(context.Context) error { return getOK(http.DefaultClient, url) }

func getOK(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
