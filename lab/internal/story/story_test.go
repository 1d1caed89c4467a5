package story

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/internal/control"
	"github.com/drover-project/drover/lab/internal/timeline"
)

func TestEveryStoryHasANameAndOneSentence(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if s.Name == "" || seen[s.Name] || s.play == nil || !strings.HasSuffix(s.Purpose, ".") {
			t.Errorf("story %q: %q", s.Name, s.Purpose)
		}
		seen[s.Name] = true
	}
	if _, err := Find("founding-bug", "nonsense"); err == nil || !strings.Contains(err.Error(), "scale-3-1-3") {
		t.Errorf("an unknown name must be answered with the known ones: %v", err)
	}
}

// fakeLab answers nothing and remembers that it was ended.
type fakeLab struct{ ended *bool }

func (fakeLab) Management() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} }
func (fakeLab) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no network")
}
func (fakeLab) Exec(context.Context, string, ...string) (string, int, error) { return "", 0, nil }
func (fakeLab) Disturb(context.Context, string, control.Fault) error         { return nil }
func (fakeLab) DisturbBalancer(context.Context, client.ObjectKey, control.Fault) error {
	return nil
}
func (fakeLab) StartOtherProvider(context.Context, string) error            { return nil }
func (fakeLab) StopProvider(context.Context) error                          { return nil }
func (fakeLab) StartProvider(context.Context, ...string) error              { return nil }
func (fakeLab) MachineNames(context.Context) ([]string, error)              { return nil, nil }
func (fakeLab) AddManagement(context.Context, string) (*rest.Config, error) { return nil, nil }
func (fakeLab) LocalManagementKubeconfig(context.Context, string) (string, error) {
	return "", nil
}
func (fakeLab) PID() int { return 1 }
func (l fakeLab) Down(ctx context.Context) error {
	*l.ended = true
	return ctx.Err()
}

func playFake(t *testing.T, ctx context.Context, play func(context.Context, *Run) error) (output, dir string, err error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	ended := false
	var out bytes.Buffer
	err = Play(ctx, []Story{{Name: "fake", Purpose: "A test.", play: play}}, Options{
		Out: &out,
		Start: func(_ context.Context, d string, _ Setup, say func(string)) (Lab, error) {
			dir = d
			say("started")
			return fakeLab{ended: &ended}, os.WriteFile(filepath.Join(d, "state"), nil, 0o644)
		},
	})
	if !ended {
		t.Error("the laboratory was not ended")
	}
	return out.String(), dir, err
}

func TestPlayPassesAndLeavesNothing(t *testing.T) {
	out, dir, err := playFake(t, t.Context(), func(_ context.Context, r *Run) error {
		r.Check("thing", "holds", true, "%d of %d", 3, 3)
		r.Figure(timeline.AtMost("time", time.Second, time.Minute))
		return nil
	})
	if err != nil || !strings.Contains(out, "--- PASS: fake") || !strings.Contains(out, "3 of 3") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("run folder is left: %v", err)
	}
}

func TestPlayFails(t *testing.T) {
	for name, tc := range map[string]struct {
		play func(context.Context, *Run) error
		want string
	}{
		"on a broken promise": {func(_ context.Context, r *Run) error {
			r.Check("thing", "holds", false, "it does not")
			return nil
		}, "it does not"},
		"on a figure beyond its bound": {func(_ context.Context, r *Run) error {
			r.Figure(timeline.AtMost("time", time.Hour, time.Minute))
			return nil
		}, "1h0m0s"},
		"on an error":           {func(context.Context, *Run) error { return errors.New("broke") }, "broke"},
		"when nothing was told": {func(context.Context, *Run) error { return nil }, "checked nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			out, dir, err := playFake(t, t.Context(), tc.play)
			if err == nil || !strings.Contains(out, "--- FAIL: fake") || !strings.Contains(out, tc.want) {
				t.Errorf("%v\n%s", err, out)
			}
			logs := filepath.Join(dir, "logs")
			if !strings.Contains(out, "logs kept in "+logs) {
				t.Errorf("the logs are not named:\n%s", out)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != "logs" {
				t.Errorf("kept %v, %v", entries, err)
			}
			if _, err := os.Stat(filepath.Join(logs, "events.jsonl")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlayLeavesNothingWhenInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	_, dir, err := playFake(t, ctx, func(ctx context.Context, _ *Run) error {
		interrupt()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("run folder is left: %v", err)
	}
}

func TestWaitForNamesWhatIsMissing(t *testing.T) {
	r := &Run{Log: &timeline.Log{}, start: time.Now(), out: &bytes.Buffer{}}
	err := r.WaitFor(t.Context(), "the moon", 10*time.Millisecond, func(context.Context) (bool, string, error) { return false, "still rising", nil })
	if err == nil || !strings.Contains(err.Error(), "the moon") || !strings.Contains(err.Error(), "still rising") {
		t.Errorf("got %v", err)
	}
}

func TestProgressLines(t *testing.T) {
	var lines []string
	p := &progress{say: func(s string) { lines = append(lines, s) }, machine: map[string]string{}, ready: map[string]bool{}, waiting: map[string]waiting{}}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, e := range []timeline.Event{
		{Kind: timeline.MachineCreated, Machine: "cp-1", Role: timeline.Server, Version: versionOld},
		{Kind: timeline.MachineJoined, Machine: "cp-1", Node: "n1"},
		{Kind: timeline.NodeReady, Node: "n1"},
		{Kind: timeline.NodeReady, Node: "n1"},
		{Kind: timeline.LeaseRenewed, Node: "n1"},
		{Kind: timeline.MachineStep, Machine: "cp-1", Object: "DrainingNode", Detail: "Pod\n a", At: now},
		{Kind: timeline.MachineStep, Machine: "cp-1", Object: "DrainingNode", Detail: "Pod b", At: now.Add(5 * time.Second)},
		{Kind: timeline.ControlPlaneState, Object: "RollingOut", Detail: "True RollingOut: Rolling 1 of 3\n* version a, wanted b\nHeld up:\n* pod x"},
		{Kind: timeline.ControlPlaneState, Object: "ScalingDown", Detail: "True ScalingDown: 4 to 3:\n* pod x"},
		{Kind: timeline.ControlPlaneState, Object: "Available", Detail: "True Available:"},
		{Kind: timeline.HookReleased, Machine: "cp-1", Object: ourHook},
	} {
		p.take(e)
	}
	p.still(now.Add(32 * time.Second))
	want := []string{
		"cp-1: new server at " + versionOld, "cp-1: Node is ready", "cp-1: DrainingNode: Pod a",
		"control plane: pod x", "cp-1: hook rke2-cleanup released", "cp-1: DrainingNode for 32s: Pod b",
	}
	if strings.Join(lines, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", lines)
	}
}

func TestCommandRefusesNonsense(t *testing.T) {
	for name, args := range map[string][]string{
		"nothing":          {"run"},
		"both":             {"run", "--all", "surge-zero"},
		"unknown":          {"run", "nonsense"},
		"one page for six": {"run", "--all", "--html", "x.html"},
	} {
		t.Run(name, func(t *testing.T) {
			c := Command(func(context.Context, string, Setup, func(string)) (Lab, error) {
				t.Error("a laboratory was started")
				return nil, errors.New("no")
			})
			c.SetArgs(args)
			c.SetOut(&bytes.Buffer{})
			c.SetErr(&bytes.Buffer{})
			if err := c.ExecuteContext(t.Context()); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestSpecObjects(t *testing.T) {
	objects := foundingSpec().Objects()
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetObjectKind().GroupVersionKind().Kind)
		if o.GetNamespace() != namespace || o.GetName() == "" {
			t.Errorf("%T without name or namespace", o)
		}
	}
	want := "Cluster LabCluster LabMachineTemplate RKE2ControlPlane LabMachineTemplate RKE2ConfigTemplate MachineDeployment"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("kinds %s", got)
	}
	if n := len((Spec{Name: "x", Servers: 1, Version: versionOld}).Objects()); n != 4 {
		t.Errorf("without workers: %d objects", n)
	}
}
