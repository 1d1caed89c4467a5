package render

import (
	"strings"
	"testing"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

func TestKeysAreChecked(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		role    Role
		key     string
		value   any
		want    string
	}{
		"text":              {key: "node-name", value: "a"},
		"list":              {key: "tls-san", value: []string{"a"}},
		"list between ,":    {key: "cluster-cidr", value: "10.0.0.0/8,fd00::/8"},
		"number":            {key: "lb-server-port", value: 7},
		"number as text":    {key: "etcd-snapshot-retention", value: "7"},
		"duration":          {key: "etcd-s3-timeout", value: "5m"},
		"since, reached":    {key: "etcd-s3-retention", value: 3, version: "v1.32.8+rke2r1"},
		"since, next minor": {key: "etcd-s3-retention", value: 3, version: "v1.36.0+rke2r1"},
		"since, not yet": {
			key: "etcd-s3-retention", value: 3, version: "v1.32.7+rke2r1",
			want: "RKE2 v1.32.7+rke2r1 does not know the key etcd-s3-retention of config.yaml yet; take the field out, or use v1.32.8 or later",
		},
		"since, minor before": {
			key: "helm-controller-arg", value: []string{"a"}, version: "v1.31.14+rke2r1", want: "or use v1.33.0 or later",
		},
		"unknown":    {key: "cluster-init", value: true, want: "RKE2 v1.36.3+rke2r1 does not know the key cluster-init of config.yaml; take"},
		"of servers": {key: "tls-san", value: []string{"a"}, role: Worker, want: "the key tls-san of config.yaml is for servers only"},
		"no number":  {key: "etcd-snapshot-retention", value: "many", want: `takes a whole number, and "many" is none; correct the field`},
		"no duration": {
			key: "etcd-s3-timeout", value: "5 minutes", want: `takes a duration like 10m, and "5 minutes" is none; correct the field`,
		},
		"no flag": {key: "selinux", value: "hunter2", want: "the key selinux of config.yaml takes true or false, not a value of type string"},
		"no text": {key: "token", value: []string{"hunter2"}, want: "the key token of config.yaml takes a text, not a value of type []string"},
		"no list": {key: "tls-san", value: true, want: "takes a list of texts"},
	} {
		t.Run(name, func(t *testing.T) {
			v := testVersion
			if c.version != "" {
				var err error
				if v, err = version.Parse(c.version); err != nil {
					t.Fatal(err)
				}
			}
			if c.role == 0 {
				c.role = FirstServer
			}
			err := checkKey(c.role, v, c.key, c.value)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got  %v\nwant %s", err, c.want)
			case err != nil && strings.Contains(err.Error(), "hunter2"):
				t.Errorf("the error holds a secret: %v", err)
			}
		})
	}
}

// TestKeyErrorsNameTheField goes the whole way from the API.
func TestKeyErrorsNameTheField(t *testing.T) {
	in := firstServer()
	in.Server.Etcd.BackupConfig = controlplanev1.EtcdBackupConfig{Retention: "a few"}
	_, err := Bootstrap(in)
	want := `serverConfig.etcd.backupConfig.retention: the key etcd-snapshot-retention of config.yaml takes a whole number, ` +
		`and "a few" is none; correct the field`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, other := range []version.Version{{Major: 1, Minor: 30, Patch: 1, Release: 1}, {Major: 1, Minor: 37, Release: 1}} {
		in.Version = other
		if _, err := Bootstrap(in); err != nil {
			t.Errorf("%s, which the table says nothing about: %v", other, err)
		}
	}
}

func TestDataDirIsAbsolute(t *testing.T) {
	in := worker()
	in.Config.AgentConfig.DataDir = "rke2"
	if _, err := Bootstrap(in); err == nil || !strings.HasPrefix(err.Error(), `agentConfig.dataDir: "rke2" is not absolute`) {
		t.Error(err)
	}
}

// TestKeysOfAllReleases renders everything for every release of the table.
func TestKeysOfAllReleases(t *testing.T) {
	for minor := firstMinor; minor <= lastMinor; minor++ {
		for _, in := range []Input{everything(), joiningServer(), worker(), airGapped()} {
			in.Version.Minor, in.Version.Patch = minor, 0
			if _, err := Bootstrap(in); err != nil {
				t.Errorf("%s %s: %v", in.Version, in.Role, err)
			}
		}
	}
}

func TestProfile(t *testing.T) {
	for _, c := range []struct {
		minor      int
		asked, got string
		want       string
	}{
		{36, "cis", "cis", ""}, {36, "cis-1.23", "cis", ""}, {30, "cis-1.23", "cis-1.23", ""}, {24, "cis-1.6", "cis-1.6", ""},
		{36, "cis-1.6", "", `agentConfig.cisProfile: RKE2 v1.36.3+rke2r1 has no profile "cis-1.6" (the key profile of config.yaml); use "cis"`},
		{37, "cis-1.5", "", `has no profile "cis-1.5"`},
	} {
		in := worker()
		in.Version.Minor = c.minor
		setField(t, &in, "agentConfig.cisProfile", c.asked)
		if c.want != "" {
			if _, err := Bootstrap(in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", c.asked, err, c.want)
			}
			continue
		}
		if got := nodeConfig(t, in)["profile"]; got != c.got {
			t.Errorf("1.%d, %s: profile %v, want %s", c.minor, c.asked, got, c.got)
		}
	}
}
