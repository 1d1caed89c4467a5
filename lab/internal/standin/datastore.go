package standin

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/drover-project/drover/lab/internal/standin/supervisor"
)

// bootstrapPrefix is where the servers of a cluster leave the authorities in an
// external datastore, below it a digest of the token. RKE2 encrypts them with
// the token; nobody but the stand-in reads them here.
const bootstrapPrefix = "/bootstrap/"

// datastoreTimeout bounds one question to the datastore.
const datastoreTimeout = 5 * time.Second

// errOtherToken is RKE2's refusal of a datastore that another cluster uses.
var errOtherToken = errors.New("bootstrap data already found and encrypted with different token")

// dataAreElsewhere tells whether the cluster keeps its data in an external
// datastore: its servers then run no etcd, and are members of nothing.
func (n *node) dataAreElsewhere() bool { return len(n.config.Datastore()) > 0 }

// shareAuthorities takes the authorities from the datastore or, as its first
// server, leaves its own there. No server needs another one for that, whatever
// the key "server" says.
func (s *server) shareAuthorities(ctx context.Context) error {
	client, err := s.datastore()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return until(ctx, time.Second, func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, datastoreTimeout)
		defer cancel()
		found, err := client.Get(ctx, bootstrapPrefix, clientv3.WithPrefix())
		if err != nil {
			s.log.Info("waiting for the datastore", "error", err)
			return false, nil
		}
		if len(found.Kvs) == 0 {
			return false, s.offerAuthorities(ctx, client)
		}
		kept := found.Kvs[0]
		if string(kept.Key) != s.bootstrapKey() {
			return false, errOtherToken
		}
		return true, s.takeShared(kept.Value)
	})
}

func (s *server) bootstrapKey() string { return bootstrapPrefix + passwordHash(s.token.Password)[:12] }

func (s *server) takeShared(data []byte) error {
	var shared supervisor.Bootstrap
	if err := json.Unmarshal(data, &shared); err != nil {
		return fmt.Errorf("bootstrap data in the datastore: %w", err)
	}
	return s.takeOver(shared)
}

// offerAuthorities leaves the server's authorities in the datastore, unless
// another one was faster. What is there then is read again.
func (s *server) offerAuthorities(ctx context.Context, client *clientv3.Client) error {
	if err := s.tls.Ensure(); err != nil {
		return err
	}
	own, err := supervisor.BootstrapOf(s.tls, s.config.Critical())
	if err != nil {
		return err
	}
	data, err := json.Marshal(own)
	if err != nil {
		return err
	}
	key := s.bootstrapKey()
	_, err = client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, string(data))).Commit()
	if err != nil {
		s.log.Info("the datastore did not take the authorities", "error", err)
	}
	return nil
}

func (s *server) datastore() (*clientv3.Client, error) {
	var secured *tls.Config
	files := transport.TLSInfo{
		TrustedCAFile: s.config.String("datastore-cafile"), CertFile: s.config.String("datastore-certfile"), KeyFile: s.config.String("datastore-keyfile"),
	}
	if !files.Empty() || files.TrustedCAFile != "" {
		var err error
		if secured, err = files.ClientConfig(); err != nil {
			return nil, fmt.Errorf("files of the datastore: %w", err)
		}
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: s.config.Datastore(), TLS: secured, DialTimeout: datastoreTimeout})
	if err != nil {
		return nil, fmt.Errorf("connect to the datastore: %w", err)
	}
	return client, nil
}
