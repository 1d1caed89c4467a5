package cri

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestVolumes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount; machines of a lab run as root of their user namespace")
	}
	c := serve(t)
	volume, place := filepath.Join(c.dir, "volume"), t.TempDir()
	c.Expect(os.Mkdir(volume, 0o755)).To(Succeed())
	c.Expect(os.WriteFile(filepath.Join(volume, "token"), []byte("secret\n"), 0o600)).To(Succeed())
	c.Expect(os.WriteFile(filepath.Join(c.dir, "message"), nil, 0o600)).To(Succeed())
	secret := filepath.Join(place, "deep", "folder")
	id := c.start("cat "+secret+"/token; touch "+secret+"/x || echo read-only; echo bye > "+place+"/message; exec sleep 1000",
		&runtimeapi.Mount{HostPath: volume, ContainerPath: secret, Readonly: true},
		&runtimeapi.Mount{HostPath: filepath.Join(c.dir, "message"), ContainerPath: filepath.Join(place, "message")},
		&runtimeapi.Mount{HostPath: filepath.Join(c.dir, "new"), ContainerPath: filepath.Join(place, "data")})
	c.waitForLine(id, "secret")
	c.waitForLine(id, "read-only")
	c.Eventually(func() string { return read(t, filepath.Join(c.dir, "message")) }, patient, "10ms").Should(Equal("bye\n"))

	response, err := c.ExecSync(c.ctx, &runtimeapi.ExecSyncRequest{ContainerId: id,
		Cmd: []string{"sh", "-c", "cat " + secret + "/token; touch " + place + "/data/made"}})
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(string(response.GetStdout())).To(Equal("secret\n"), "an exec sees the container's volumes")
	c.Expect(filepath.Join(c.dir, "new", "made")).To(BeAnExistingFile())
	c.Expect(filepath.Join(secret, "token")).NotTo(BeAnExistingFile(), "nobody else sees them")
}

func TestVolumeInReadOnlyFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount; machines of a lab run as root of their user namespace")
	}
	c := serve(t)
	message := filepath.Join(c.dir, "message")
	c.Expect(os.WriteFile(message, nil, 0o600)).To(Succeed())
	// Not even root can make files there.
	id := c.start("echo bye > /sys/termination-log && ls /sys/kernel && echo $(ls /sys | wc -l)",
		&runtimeapi.Mount{HostPath: message, ContainerPath: "/sys/termination-log"})
	c.Expect(c.wait(id).GetExitCode()).To(BeZero())
	c.Expect(read(t, message)).To(Equal("bye\n"))
	c.Expect("/sys/termination-log").NotTo(BeAnExistingFile())
}

func TestVolumeWithoutPlace(t *testing.T) {
	c := serve(t)
	id := c.create(&runtimeapi.ContainerConfig{Command: []string{"true"},
		Mounts: []*runtimeapi.Mount{{HostPath: "/proc/version/x", ContainerPath: "/tmp"}}})
	_, err := c.StartContainer(c.ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	c.Expect(err).To(HaveOccurred())
}
