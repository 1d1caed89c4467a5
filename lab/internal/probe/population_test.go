package probe

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPopulationRemembersWhatWasThereShortly(t *testing.T) {
	p := &Population{ever: map[types.UID]string{}, left: map[types.UID]string{}}
	object := func(name string, id types.UID, deleting bool) *corev1.Pod {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: id}}
		if deleting {
			now := metav1.Now()
			o.DeletionTimestamp = &now
		}
		return o
	}
	known := map[types.UID]bool{"1": true, "2": true, "3": true}
	for id := range known {
		p.take("Pod", seen{object: object("p"+string(id), id, false)})
	}
	if got := p.Changes(known); len(got) != 0 || p.Ever() != 3 {
		t.Fatalf("at rest: %d objects, changes %v", p.Ever(), got)
	}
	p.take("Pod", seen{object: object("short", "4", false)})
	p.take("Pod", seen{object: object("short", "4", false), gone: true})
	p.take("Pod", seen{object: object("p2", "2", true)})
	// Replaced under its name.
	p.take("Pod", seen{object: object("p3", "3", false), gone: true})
	p.take("Pod", seen{object: object("p3", "5", false)})
	want := "Pod p2 left, Pod p3 came, Pod p3 left, Pod short came, Pod short left"
	if got := strings.Join(p.Changes(known), ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
