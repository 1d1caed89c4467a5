package machine

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"

	"github.com/drover-project/drover/lab/internal/guest"
)

const (
	bridgeName = "lab0"
	prefixBits = 16
)

var (
	// Gateway is the bridge's own address: that of the first management cluster
	// and of everything else outside of the machines and sites.
	Gateway = netip.AddrFrom4([4]byte{10, 77, 0, 1})

	firstSite    = netip.AddrFrom4([4]byte{10, 77, 0, 2})
	lastSite     = netip.AddrFrom4([4]byte{10, 77, 0, 9})
	firstMachine = netip.AddrFrom4([4]byte{10, 77, 1, 1})
	lastMachine  = netip.AddrFrom4([4]byte{10, 77, 254, 254})
	firstService = netip.AddrFrom4([4]byte{10, 77, 0, 10})
	lastService  = netip.AddrFrom4([4]byte{10, 77, 0, 254})
)

// network is the bridge with its cables. Addresses are given out in order and
// never again, so a late packet for a dead machine reaches nobody.
type network struct {
	mu          sync.Mutex
	bridge      *netlink.Bridge
	nextMachine netip.Addr
	nextService netip.Addr
	nextSite    netip.Addr
	cables      int
}

func newNetwork() (*network, error) {
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("make bridge %s: %w", bridgeName, err)
	}
	if err := netlink.AddrAdd(bridge, address(Gateway, prefixBits)); err != nil {
		return nil, fmt.Errorf("give bridge %s its address: %w", bridgeName, err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return nil, fmt.Errorf("bring bridge %s up: %w", bridgeName, err)
	}
	return &network{bridge: bridge, nextMachine: firstMachine, nextService: firstService, nextSite: firstSite}, nil
}

func address(ip netip.Addr, bits int) *netlink.Addr {
	return &netlink.Addr{IPNet: &net.IPNet{IP: ip.AsSlice(), Mask: net.CIDRMask(bits, ip.BitLen())}}
}

// allocate returns an address for a machine and a name for the bridge's end of
// its cable.
func (n *network) allocate() (netip.Addr, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ip := n.nextMachine
	if lastMachine.Less(ip) {
		return netip.Addr{}, "", errors.New("all machine addresses of this lab are used up")
	}
	n.nextMachine = following(ip)
	n.cables++
	return ip, fmt.Sprintf("m%d", n.cables), nil
}

// following skips addresses that end in 0 or 255, which look like mistakes.
func following(ip netip.Addr) netip.Addr {
	for {
		ip = ip.Next()
		if last := ip.As4()[3]; last != 0 && last != 255 {
			return ip
		}
	}
}

func (n *network) prefix(ip netip.Addr) netip.Prefix { return netip.PrefixFrom(ip, prefixBits) }

// plug lays a cable between the bridge and the network namespace of process pid.
func (n *network) plug(link string, pid int) error { return n.lay(link, netlink.NsPid(pid)) }

// lay connects the bridge with a network namespace; far is a netlink.NsPid or a netlink.NsFd.
func (n *network) lay(link string, far any) error {
	veth := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: link, MasterIndex: n.bridge.Index},
		PeerName:      guest.Interface,
		PeerNamespace: far,
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return fmt.Errorf("lay cable %s: %w", link, err)
	}
	return n.setUp(link, true)
}

// unplug removes a cable. It may have vanished with the machine's namespace.
func (n *network) unplug(link string) {
	if found, err := netlink.LinkByName(link); err == nil {
		_ = netlink.LinkDel(found)
	}
}

func (n *network) setUp(link string, up bool) error {
	found, err := netlink.LinkByName(link)
	if err != nil {
		return fmt.Errorf("find cable %s: %w", link, err)
	}
	if up {
		err = netlink.LinkSetUp(found)
	} else {
		err = netlink.LinkSetDown(found)
	}
	if err != nil {
		return fmt.Errorf("switch cable %s: %w", link, err)
	}
	return nil
}

// AddServiceAddress gives the bridge one more address, for a load balancer or
// another service of the lab. Each address is given out once.
func (m *Manager) AddServiceAddress() (netip.Addr, error) {
	n := m.network
	n.mu.Lock()
	defer n.mu.Unlock()
	ip := n.nextService
	if lastService.Less(ip) {
		return netip.Addr{}, errors.New("all service addresses of this lab are used up")
	}
	if err := m.AddAddress(ip); err != nil {
		return netip.Addr{}, err
	}
	n.nextService = ip.Next()
	return ip, nil
}

// AddAddress gives the bridge one more address, which machines reach through
// their gateway when it lies outside of the lab's own network.
func (m *Manager) AddAddress(ip netip.Addr) error {
	if err := netlink.AddrAdd(m.network.bridge, address(ip, ip.BitLen())); err != nil {
		return fmt.Errorf("add address %s: %w", ip, err)
	}
	return nil
}

// RemoveServiceAddress takes an address of AddServiceAddress away again.
func (m *Manager) RemoveServiceAddress(ip netip.Addr) error {
	if err := netlink.AddrDel(m.network.bridge, address(ip, ip.BitLen())); err != nil {
		return fmt.Errorf("remove address %s: %w", ip, err)
	}
	return nil
}
