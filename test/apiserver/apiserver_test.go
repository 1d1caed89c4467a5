package apiserver

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/test/loopback"
)

// children are the command lines of the processes that we started and that
// have not ended.
func children(t *testing.T) []string {
	t.Helper()
	var found []string
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range stats {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may be anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		command, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err == nil && len(command) > 0 {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// What is behind the tests is there until they are done, is heard when it
// fails, and ends before the server does.
func TestRun(t *testing.T) {
	g := NewWithT(t)
	broken := errors.New("broken")
	code, err := run(func() int {
		g.Expect(children(t)).To(ConsistOf(ContainSubstring("etcd"), ContainSubstring("kube-apiserver")))
		return 7
	}, Options{Kinds: []Kinds{Drover, Clusters}}, func(_ context.Context, s *Server) error {
		kube, err := s.Client(clientgoscheme.Scheme)
		g.Expect(err).NotTo(HaveOccurred())
		s.Go(func(ctx context.Context) error {
			<-ctx.Done()
			g.Expect(kube.Get(context.WithoutCancel(ctx), client.ObjectKey{Name: "default"}, &corev1.Namespace{})).To(Succeed())
			return broken
		})
		host := loopback.Address().Addr().String()
		address, err := url.Parse(s.Config.Host)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(address.Hostname()).To(Equal(host))
		for _, command := range children(t) {
			g.Expect(command).NotTo(Or(ContainSubstring("127.0.0.1"), ContainSubstring("localhost")), "somebody else's address")
		}
		return nil
	})
	g.Expect(code).To(Equal(7))
	g.Expect(err).To(MatchError(broken))
	g.Expect(children(t)).To(BeEmpty())
}

// Nothing is left of a server whose kinds could not be installed, or that could
// not be made ready.
func TestFailures(t *testing.T) {
	g := NewWithT(t)
	never := func() int { t.Error("the tests were run"); return 0 }
	code, err := run(never, Options{Kinds: []Kinds{{droverModule, "no/such/folder"}}}, nil)
	g.Expect(code).To(Equal(1))
	g.Expect(err).To(MatchError(ContainSubstring("no/such/folder")))
	g.Expect(children(t)).To(BeEmpty())

	unready := errors.New("unready")
	code, err = run(never, Options{}, func(context.Context, *Server) error { return unready })
	g.Expect(code).To(Equal(1))
	g.Expect(err).To(MatchError(unready))
	g.Expect(children(t)).To(BeEmpty())

	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	_, err = run(never, Options{}, nil)
	g.Expect(err).To(MatchError(ContainSubstring("make envtest")))
}
