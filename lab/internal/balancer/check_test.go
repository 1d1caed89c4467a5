package balancer

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestHTTPSJudgesTheStatus(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	strict, lenient := HTTPS("/readyz", http.StatusOK, http.StatusUnauthorized), HTTPS("/readyz")
	for _, test := range []struct {
		status int
		good   bool
	}{{http.StatusOK, true}, {http.StatusUnauthorized, true}, {http.StatusInternalServerError, false}, {http.StatusFound, false}} {
		status = test.status
		if err := strict(t.Context(), address); (err == nil) != test.good {
			t.Errorf("status %d: %v", test.status, err)
		}
		if err := lenient(t.Context(), address); err != nil {
			t.Errorf("status %d where any answer is good: %v", test.status, err)
		}
	}
	server.Close()
	if strict(t.Context(), address) == nil || lenient(t.Context(), address) == nil || TCP()(t.Context(), address) == nil {
		t.Error("a closed server passes the check")
	}
}
