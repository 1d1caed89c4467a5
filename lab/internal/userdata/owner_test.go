package userdata

import "testing"

func TestLookUpOwner(t *testing.T) {
	for _, test := range []struct {
		owner    string
		uid, gid int
	}{
		{"root:root", 0, 0}, {"root", 0, -1}, {":root", -1, 0}, {"12:34", 12, 34}, {"0", 0, -1},
	} {
		uid, gid, err := lookUpOwner(test.owner)
		if err != nil || uid != test.uid || gid != test.gid {
			t.Errorf("%s: %d:%d %v, want %d:%d", test.owner, uid, gid, err, test.uid, test.gid)
		}
	}
}
