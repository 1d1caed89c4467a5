package kubenode

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/drover-project/drover/lab/internal/cloudinit"
	"github.com/drover-project/drover/lab/internal/cri"
)

func TestUserData(t *testing.T) {
	g := NewWithT(t)
	data, err := UserData(Identity{
		Kubeconfig: []byte("kubeconfig: {}\n"), ClientCA: []byte("CA\n"),
		Images: cri.Catalog{"example.org/a": {Files: map[string]string{"/manager": "/run/lab/programs/a"}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	config, err := cloudinit.Parse(data, "node-1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Ignored).To(BeEmpty())
	g.Expect(config.Commands).To(HaveLen(1))
	var paths []string
	for _, f := range config.Files {
		paths = append(paths, f.Path)
	}
	g.Expect(paths).To(ConsistOf(kubeconfig, clientCA, imagesFile, "/etc/systemd/system/kubenode.service"))
}
