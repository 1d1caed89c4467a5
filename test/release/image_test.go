package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// The parts of the OCI image format that are looked at.
type (
	descriptor struct {
		MediaType   string
		Digest      string
		Annotations map[string]string
		Platform    struct{ OS, Architecture string }
	}
	index    struct{ Manifests []descriptor }
	manifest struct {
		Config descriptor
		Layers []descriptor
	}
	imageConfig struct {
		OS, Architecture, Created string
		Config                    struct {
			User       string
			Entrypoint []string
			Cmd        []string
			Env        []string
			Volumes    map[string]any
		}
	}
)

// ociLayout is a folder with an image. What it has is read by its digest, which is
// checked.
type ociLayout string

func (l ociLayout) read(t *testing.T, digest string, into any) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(string(l), "blobs", strings.Replace(digest, ":", "/", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(data); "sha256:"+hex.EncodeToString(sum[:]) != digest {
		t.Errorf("%s has other content", digest)
	}
	if into != nil {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// buildImage builds the image of a small program as that of the manager is
// built: compiling the manager itself for two platforms takes minutes.
func buildImage(t *testing.T, source string) ociLayout {
	t.Helper()
	for name, content := range map[string]string{
		"go.mod":  "module example.com/program\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() { print(\"hello\") }\n",
		"LICENSE": "the license\n",
	} {
		if err := os.WriteFile(filepath.Join(source, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "image")
	err := command(t.Context(), filepath.Join(root, "tools"), "go", "run", "./image", "--source", source, "--package", ".",
		"--out", out, "--name", "ghcr.io/drover-project/drover:"+version, "--epoch", "1700000000")
	if err != nil {
		t.Fatal(err)
	}
	return ociLayout(out)
}

func TestImage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := buildImage(t, t.TempDir())
	top := index{}
	data, err := os.ReadFile(filepath.Join(string(l), "index.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(data, &top)).To(Succeed())
	g.Expect(top.Manifests).To(HaveLen(1))
	g.Expect(top.Manifests[0].MediaType).To(Equal("application/vnd.oci.image.index.v1+json"))
	g.Expect(top.Manifests[0].Annotations).To(HaveKeyWithValue("org.opencontainers.image.ref.name", version))

	platforms := index{}
	l.read(t, top.Manifests[0].Digest, &platforms)
	g.Expect(platforms.Manifests).To(HaveLen(2))
	programs := map[string]string{"amd64": "\x3e\x00", "arm64": "\xb7\x00"} // e_machine of ELF
	for _, d := range platforms.Manifests {
		g.Expect(d.MediaType).To(Equal("application/vnd.oci.image.manifest.v1+json"))
		g.Expect(d.Platform.OS).To(Equal("linux"))
		l.checkImage(t, d, programs[d.Platform.Architecture])
		delete(programs, d.Platform.Architecture)
	}
	g.Expect(programs).To(BeEmpty(), "platforms are missing")

	again := buildImage(t, t.TempDir())
	second, err := os.ReadFile(filepath.Join(string(again), "index.json"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(second)).To(Equal(string(data)), "a second build, in another folder, has another digest")
}

// checkImage looks at the image of one platform.
func (l ociLayout) checkImage(t *testing.T, d descriptor, machine string) {
	t.Helper()
	g := NewWithT(t)
	m, c := manifest{}, imageConfig{}
	l.read(t, d.Digest, &m)
	l.read(t, m.Config.Digest, &c)
	g.Expect(c.OS + "/" + c.Architecture).To(Equal("linux/" + d.Platform.Architecture))
	g.Expect(c.Created).To(Equal("2023-11-14T22:13:20Z"))
	g.Expect(c.Config.User).To(Equal("65532:65532"))
	g.Expect(c.Config.Entrypoint).To(Equal([]string{"/manager"}))
	g.Expect(c.Config.Cmd).To(BeEmpty())
	g.Expect(c.Config.Env).To(BeEmpty())
	g.Expect(c.Config.Volumes).To(BeEmpty())

	g.Expect(m.Layers).To(HaveLen(1))
	files := unpack(t, l.read(t, m.Layers[0].Digest, nil))
	g.Expect(files).To(And(HaveLen(2), HaveKey("LICENSE"), HaveKey("manager")), "nothing else is in the image, above all no shell")
	program := files["manager"]
	g.Expect(program.mode).To(Equal(int64(0o555)))
	g.Expect(program.data[:4]).To(Equal([]byte("\x7fELF")))
	g.Expect(string(program.data[18:20])).To(Equal(machine))
	g.Expect(bytes.Contains(program.data, []byte(root))).To(BeFalse(), "the program knows the folder it was built in")
}

type packed struct {
	mode int64
	data []byte
}

// unpack reads a layer; everything in it belongs to root and has the time of
// the source.
func unpack(t *testing.T, layer []byte) map[string]packed {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]packed{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.ModTime.Unix() != 1700000000 {
			t.Errorf("%s: owner %d:%d, time %s", header.Name, header.Uid, header.Gid, header.ModTime)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = packed{header.Mode, data}
	}
}

// The Dockerfile makes the same image: the same user, program and flags of the
// compiler, on top of nothing.
func TestDockerfile(t *testing.T) {
	g := NewWithT(t)
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	g.Expect(err).NotTo(HaveOccurred())
	_, last, found := strings.Cut(string(data), "\nFROM scratch\n")
	g.Expect(found).To(BeTrue())
	var steps []string
	for line := range strings.Lines(last) {
		steps = append(steps, strings.TrimSpace(line))
	}
	g.Expect(steps).To(Equal([]string{"COPY LICENSE /LICENSE", "COPY --from=build /out/manager /manager", "WORKDIR /",
		"USER 65532:65532", `ENTRYPOINT ["/manager"]`}))
	g.Expect(string(data)).To(ContainSubstring(`-trimpath -buildvcs=false -ldflags="-s -w -buildid="`))
}
