package membership

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/etcd"
)

// recorder is an etcd of one healthy voter on n1 that notes whom it is asked
// through.
type recorder struct {
	mu    sync.Mutex
	asked []string
}

func (r *recorder) Status(_ context.Context, node string) (etcd.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, node)
	return etcd.Status{ID: 1, Leader: 1, Term: 1}, nil
}

func (r *recorder) Members(context.Context, string) ([]etcd.Member, error) {
	return []etcd.Member{{ID: 1, Name: "n1-0a1b2c3d"}, {ID: 2, Name: "n2-0a1b2c3d"}}, nil
}

func (r *recorder) Alarms(context.Context, string) ([]etcd.Alarm, error) { return nil, nil }

func (r *recorder) Path(string) model.Path { return model.PortForward }

func TestDepartedServersAreNotAsked(t *testing.T) {
	r := &recorder{}
	read := Read(t.Context(), r, []Server{
		{Machine: "m1", Node: "n1", MemberName: "n1-0a1b2c3d", Doomed: true},
		{Node: "n2", MemberName: "n2-0a1b2c3d", Gone: true},
	}, time.Now)
	if want := []string{"n1"}; !slices.Equal(r.asked, want) {
		t.Errorf("asked %v, want %v", r.asked, want)
	}
	if !read.Members.Value[0].Doomed {
		t.Error("the member of a host that is about to be destroyed is not doomed")
	}
	departed := read.Members.Value[1]
	if departed.Answers.Known || departed.Answers.Reason != "its Node n2 is being deleted and has no Machine" {
		t.Errorf("answer of the departed member: %+v", departed.Answers)
	}
}
