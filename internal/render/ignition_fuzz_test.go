package render

import (
	"bytes"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_3"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// FuzzIgnition gives files, commands and user data. What is not refused has to be a config that Ignition accepts, with
// the file and the command in it as they were given.
func FuzzIgnition(f *testing.F) {
	for _, seed := range [][5]string{
		{"/etc/motd", "root:root", "0644", "  {{ x }}\r\n\x80", butaneConfig},
		{"/a b%/ü", "1000", "0o7", "", `{"ignition": {"version": "3.2.0"}}`},
		{"/etc/rancher", "a:b:c", "4755", "\x00", "variant: flatcar\nversion: 1.0.0\nstorage: {links: [{path: /etc/rancher, target: /}]}"},
		{"/../x", ":", "", "data:,", "- a"},
		{"/x\n", "\xff:", "1", "'", "variant: fcos\nversion: 1.4.0\nsystemd: {units: [{name: rke2-install.service, enabled: false}]}"},
	} {
		f.Add(seed[0], seed[1], seed[2], []byte(seed[3]), seed[4], "echo "+seed[3], uint8(len(seed[3])))
	}
	encodings := []bootstrapv1.Encoding{"", "", bootstrapv1.Base64, bootstrapv1.Gzip, bootstrapv1.GzipBase64}
	f.Fuzz(func(t *testing.T, path, owner, mode string, content []byte, config, command string, kind uint8) {
		in := ignited(worker())
		encoding := encodings[int(kind)%len(encodings)]
		in.Config.Files = []bootstrapv1.File{{
			Path: path, Owner: owner, Permissions: mode, Encoding: encoding, ContentFrom: &bootstrapv1.FileSource{},
		}}
		in.Contents.Files = map[int][]byte{0: content}
		in.Config.PreRKE2Commands = []string{command}
		in.Config.AgentConfig.AdditionalUserData.Config = config
		out, err := Bootstrap(in)
		if err != nil {
			return
		}
		document, found, err := ignition.Parse(out.Data)
		if err != nil {
			t.Fatalf("%v: %s", err, found)
		}
		kept := map[string][]byte{}
		for _, file := range document.Storage.Files {
			if file.Contents.Source != nil && strings.HasPrefix(*file.Contents.Source, "data:") {
				kept[file.Path] = contentOf(t, &file.Contents)
			}
		}
		if got := kept[path]; encoding == "" && !bytes.Equal(got, content) {
			t.Errorf("%q became %q", content, got)
		}
		if !bytes.Contains(kept[ScriptPath], []byte("\n"+command+"\n")) {
			t.Errorf("the command is not in the script:\n%s", kept[ScriptPath])
		}
		unit := document.Systemd.Units[len(document.Systemd.Units)-1]
		for _, other := range document.Systemd.Units {
			if other.Name == unitName {
				unit = other
			}
		}
		if unit.Name != unitName || unit.Enabled == nil || !*unit.Enabled || unit.Contents == nil ||
			*unit.Contents != bootstrapUnitText || unit.Mask != nil {
			t.Errorf("the unit was changed: %+v", unit)
		}
	})
}
