package runfolder

import "testing"

func TestPlanesHavePlacesOfTheirOwn(t *testing.T) {
	folder := Folder("/lab")
	for name, want := range map[string][3]string{
		"":       {"/lab/kubeconfig", "/lab/management", "/lab/logs/etcd.log"},
		"second": {"/lab/kubeconfig-second", "/lab/management-second", "/lab/logs/second-etcd.log"},
	} {
		p := folder.Plane(name)
		if got := [3]string{p.Kubeconfig(), p.Data(), p.Log("etcd")}; got != want {
			t.Errorf("plane %q: %v, want %v", name, got, want)
		}
	}
	if folder.Kubeconfig() != "/lab/kubeconfig" {
		t.Errorf("kubeconfig of the first: %s", folder.Kubeconfig())
	}
}
