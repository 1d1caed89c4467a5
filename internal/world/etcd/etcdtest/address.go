package etcdtest

import (
	"fmt"
	"os"
	"sync/atomic"
)

// firstPort is below the ports that the kernel gives to clients, so that no
// connection of anybody takes one of ours.
const firstPort = 20000

var lastPort atomic.Int32

// ownAddress returns an address that only this process uses: the host in
// 127.0.0.0/8 is made from the process ID, of which Linux has at most 2^22. A
// port that was free a moment ago, on the address everybody uses, is taken by
// somebody else from time to time.
func ownAddress() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:%d", 64+pid>>16&0x3f, pid>>8&0xff, pid&0xff, firstPort+lastPort.Add(1))
}
