package render

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

var awsLimit = Limit{Bytes: 16384, Reason: "the infrastructure is an AWSMachine"}

// noise is text that compression makes no smaller than a quarter less.
func noise(bytes int) string {
	source := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, bytes*3/4)
	_, _ = source.Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// TestSizeOfOrdinaryData has three files of 4 KB fit into what AWS takes, for every role, format and way to install.
func TestSizeOfOrdinaryData(t *testing.T) {
	for _, role := range []func() Input{firstServer, joiningServer, worker} {
		for _, format := range []bootstrapv1.Format{bootstrapv1.CloudConfig, bootstrapv1.Ignition} {
			for _, airGapped := range []bool{false, true} {
				in := role()
				in.Limit = awsLimit
				if in.CAs != nil {
					in.CAs = realisticCAs()
				}
				in.Config.AgentConfig.Format, in.Config.AgentConfig.AirGapped = format, airGapped
				text := noise(12 << 10)
				for i, path := range []string{"/etc/a", "/etc/b", "/etc/c"} {
					in.Config.Files = append(in.Config.Files, bootstrapv1.File{Path: path, Content: text[i<<12 : (i+1)<<12]})
				}
				out, err := Bootstrap(in)
				if err != nil {
					t.Fatalf("%s, %s, air-gapped %t: %v", in.Role, format, airGapped, err)
				}
				packed, err := compress(out.Data)
				if err != nil || len(packed) > awsLimit.Bytes {
					t.Errorf("%s, %s, air-gapped %t: %d bytes (%v)", in.Role, format, airGapped, len(packed), err)
				}
			}
		}
	}
}

// realisticCAs are as large as those that are made for a cluster, which compress no better.
func realisticCAs() *CAs {
	text, next := noise(8<<10), 0
	pem := func(kind string, bytes int) []byte {
		next += bytes
		return []byte("-----BEGIN " + kind + "-----\n" + text[next-bytes:next] + "\n-----END " + kind + "-----\n")
	}
	pair := func() KeyPair { return KeyPair{Cert: pem("CERTIFICATE", 560), Key: pem("EC PRIVATE KEY", 164)} }
	return &CAs{Server: pair(), Client: pair(), EtcdServer: pair(), EtcdPeer: pair()}
}

func TestSizeLimit(t *testing.T) {
	large := func(in *Input) {
		text := noise(24 << 10)
		in.Config.Files = []bootstrapv1.File{{Path: "/etc/large", Content: text}, {Path: "/etc/small", Content: text[:2048]}}
		in.Config.AgentConfig.AdditionalUserData.Data = map[string]string{"users": `["` + text[:1000] + `"]`}
	}
	for name, c := range map[string]struct {
		change func(*Input)
		want   []string
	}{
		"no limit": {large, nil},
		"compressed enough": {func(in *Input) {
			in.Config.Files = []bootstrapv1.File{{Path: "/a", Content: strings.Repeat("a", 1<<19)}}
		}, nil},
		"too large": {func(in *Input) { large(in); in.Limit = awsLimit }, []string{
			"and 16384 are possible because the infrastructure is an AWSMachine", "the largest parts are /etc/large (24576), /etc/rancher/rke2/bootstrap.sh (",
		}},
		"too large and compressed": {
			func(in *Input) { large(in); in.Limit = awsLimit; in.Config.GzipUserData = ptr.To(true) },
			[]string{"16384 are possible"},
		},
		"too large for a Secret": {
			func(in *Input) {
				in.Config.Files = []bootstrapv1.File{{Path: "/a", Content: strings.Repeat("a", 1<<20)}}
			},
			[]string{"1048576 are possible: set gzipUserData", "the largest parts are /a (1048576)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := joiningServer()
			if c.want == nil && name == "compressed enough" {
				in.Limit = awsLimit
			}
			c.change(&in)
			_, err := Bootstrap(in)
			if (err == nil) != (c.want == nil) {
				t.Fatalf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwithout: %s", err, want)
				}
			}
		})
	}
}
