package ignition

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine returns a root with a file, a folder, a link and a masked unit.
func machine(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(root, "etc/systemd/system"), 0o755),
		os.WriteFile(filepath.Join(root, "old"), []byte("old\n"), 0o640),
		os.Mkdir(filepath.Join(root, "folder"), 0o710),
		os.Symlink("/old", filepath.Join(root, "link")),
		os.Symlink(os.DevNull, filepath.Join(root, "etc/systemd/system/masked.service")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRun(t *testing.T) {
	root := machine(t)
	var log bytes.Buffer
	err := Run([]byte(config(`
		"passwd": {"users": [{"name": "core"}]},
		"storage": {
			"directories": [{"path": "/deep/er", "mode": 448}, {"path": "/folder"}],
			"files": [
				{"path": "/deep/er/file", "mode": 384, "contents": {"source": "data:,secret"}, "append": [{"source": "data:,s"}]},
				{"path": "/plain", "contents": {"source": "data:,text"}},
				{"path": "/empty"},
				{"path": "/old", "append": [{"source": "data:,more"}]},
				{"path": "/link", "overwrite": true, "contents": {"source": "data:,new"}}
			],
			"links": [{"path": "/l/soft", "target": "/plain"}, {"path": "/hard", "target": "/plain", "hard": true}]
		},
		"systemd": {"units": [
			{"name": "a.service", "enabled": true, "contents": "[Install]\nWantedBy=a.target\n", "dropins": [{"name": "10.conf", "contents": "[Unit]\n"}]},
			{"name": "b.service", "enabled": false, "mask": true},
			{"name": "masked.service", "mask": false}
		]}`)), root, &log)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"deep/er/file": "secrets", "plain": "text", "empty": "", "old": "old\nmore", "link": "new", "hard": "text",
		"etc/systemd/system/a.service": "[Install]\nWantedBy=a.target\n", "etc/systemd/system/a.service.d/10.conf": "[Unit]\n",
		"etc/systemd/system-preset/20-ignition.preset": "enable a.service\ndisable b.service\n",
	} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]fs.FileMode{
		"deep": fs.ModeDir | 0o755, "deep/er": fs.ModeDir | 0o700, "folder": fs.ModeDir | 0o710,
		"deep/er/file": 0o600, "plain": 0o644, "empty": 0o644, "old": 0o640, "link": 0o644,
	} {
		if info, err := os.Lstat(filepath.Join(root, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, info, err, want)
		}
	}
	for name, want := range map[string]string{"l/soft": "/plain", "etc/systemd/system/b.service": os.DevNull} {
		if got, err := os.Readlink(filepath.Join(root, name)); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, "etc/systemd/system/masked.service")); !os.IsNotExist(err) {
		t.Errorf("it is still masked: %v", err)
	}
	if got, want := log.String(), "ignition: passwd.users has no effect on a lab machine\n"; got != want {
		t.Errorf("log: %q, want %q", got, want)
	}
}

func TestRunStops(t *testing.T) {
	links := func(entry string) string { return config(`"storage": {"links": [` + entry + `]}`) }
	for _, test := range []struct{ name, data, want string }{
		{"at a config it cannot read", "{}", "not a valid Ignition config"},
		{"at a file that is there", files(`{"path": "/old", "contents": {"source": "data:,new"}}`), "storage.files (/old): a file is there, and overwrite is false"},
		{"at a folder in the place of a file", files(`{"path": "/folder"}`), "storage.files (/folder): something that is no file"},
		{"at an unknown owner", files(`{"path": "/f", "user": {"name": "nobody-of-that-name"}}`), `storage.files: write /f: owner "nobody-of-that-name:": user: unknown user`},
		{"at a file in the place of a folder", config(`"storage": {"directories": [{"path": "/old"}]}`), "storage.directories (/old): something else is there"},
		{"at a folder below a file", config(`"storage": {"directories": [{"path": "/old/sub"}]}`), "storage.directories (/old/sub): "},
		{"at another link", links(`{"path": "/link", "target": "/other"}`), "storage.links (/link): something else is there"},
		{"at a hard link to nothing", links(`{"path": "/h", "target": "/none", "hard": true}`), "storage.links (/h): "},
		{"at a unit below a file", config(`"systemd": {"units": [{"name": "blocked.service", "dropins": [{"name": "a.conf", "contents": "[Unit]"}]}]}`), "systemd.units (blocked.service): "},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := machine(t)
			if err := os.WriteFile(filepath.Join(root, "etc/systemd/system/blocked.service.d"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			err := Run([]byte(test.data), root, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestRunTakesWhatIsThereAlready(t *testing.T) {
	root := machine(t)
	if err := Run([]byte(config(`"storage": {"links": [{"path": "/link", "target": "/old"}, {"path": "/other", "target": "/x", "user": {"id": 1}}]}`)), root, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	if err := Run([]byte(config(`"storage": {"directories": [{"path": "/folder", "overwrite": true}]}`)), root, &bytes.Buffer{}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(root, "folder")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a folder that is made anew: %v %v", info, err)
	}
}
