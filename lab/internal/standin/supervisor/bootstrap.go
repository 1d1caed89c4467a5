package supervisor

import (
	"encoding/json"
	"fmt"

	"github.com/drover-project/drover/lab/internal/standin/pki"
)

// Bootstrap is what a joining server gets: all authorities with their keys,
// and the settings that it has to share. Its JSON has each file under the name
// that RKE2 gives it (ControlRuntimeBootstrap of k3s's pkg/daemons/config), and
// the settings, which RKE2 tells elsewhere, beside them.
type Bootstrap struct {
	Files    map[string]pki.Pair
	Critical map[string]string
}

// fileNames are RKE2's names for the certificates. That of a key has "Key"
// behind it, but for the service key, which has no certificate.
var fileNames = map[string]string{
	pki.ServerCA: "ServerCA", pki.ClientCA: "ClientCA", pki.RequestHeaderCA: "RequestHeaderCA",
	pki.EtcdServerCA: "ETCDServerCA", pki.EtcdPeerCA: "ETCDPeerCA", pki.ServiceKey: "Service",
}

const (
	keySuffix    = "Key"
	criticalName = "critical"
)

type file struct{ Content []byte }

// BootstrapOf reads what a server has to give.
func BootstrapOf(store pki.Store, critical map[string]string) (Bootstrap, error) {
	out := Bootstrap{Files: map[string]pki.Pair{}, Critical: critical}
	for name := range fileNames {
		p, err := store.Read(name)
		if err != nil {
			return Bootstrap{}, err
		}
		out.Files[name] = p
	}
	return out, nil
}

// MarshalJSON implements json.Marshaler.
func (b Bootstrap) MarshalJSON() ([]byte, error) {
	out := map[string]any{criticalName: b.Critical}
	for name, pair := range b.Files {
		if len(pair.Cert) > 0 {
			out[fileNames[name]] = file{pair.Cert}
		}
		out[fileNames[name]+keySuffix] = file{pair.Key}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bootstrap) UnmarshalJSON(data []byte) error {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*b = Bootstrap{Files: map[string]pki.Pair{}}
	for name, wire := range fileNames {
		var certificate, key file
		for part, into := range map[string]*file{wire: &certificate, wire + keySuffix: &key} {
			if raw, there := parts[part]; there {
				if err := json.Unmarshal(raw, into); err != nil {
					return fmt.Errorf("%s: %w", part, err)
				}
			}
		}
		b.Files[name] = pki.Pair{Cert: certificate.Content, Key: key.Content}
	}
	if raw, there := parts[criticalName]; there {
		return json.Unmarshal(raw, &b.Critical)
	}
	return nil
}
