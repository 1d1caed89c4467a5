package guest

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
)

// notifier is one main process's end of systemd's sd_notify protocol.
type notifier struct {
	path string
	conn *net.UnixConn
	once sync.Once
}

func listenNotify(unitName string) (*notifier, error) {
	path := notifySocket(unitName)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("notify socket: %w", err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("notify socket: %w", err)
	}
	return &notifier{path: path, conn: conn}, nil
}

// await reads messages until the socket is closed, and closes ready at the
// first READY=1.
func (n *notifier) await(ready chan struct{}) {
	buffer := make([]byte, 4096)
	for {
		size, err := n.conn.Read(buffer)
		if err != nil {
			return
		}
		if slices.Contains(strings.Split(string(buffer[:size]), "\n"), "READY=1") && !closed(ready) {
			close(ready)
		}
	}
}

func (n *notifier) close() { n.once.Do(func() { _ = n.conn.Close() }) }
