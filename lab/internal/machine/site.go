package machine

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/drover-project/drover/lab/internal/guest"
)

// Site is a place on the lab's bridge where a part of the lab runs that is not
// a machine: a management cluster with its providers. All sites but the first
// have a network namespace of their own, so that ports, and 127.0.0.1, collide
// with nobody's.
type Site struct {
	address   netip.Addr
	namespace netns.NsHandle // netns.None() for the namespace of this process
}

// Home returns the site of this process itself, at the bridge's own address.
func (m *Manager) Home() *Site { return &Site{address: Gateway, namespace: netns.None()} }

// AddSite makes one more site, with the next of the few addresses that are
// kept for sites. It lasts as long as this process.
func (m *Manager) AddSite() (*Site, error) {
	address, link, err := m.network.allocateSite()
	if err != nil {
		return nil, err
	}
	namespace, err := newNamespace()
	if err != nil {
		return nil, fmt.Errorf("site %s: %w", address, err)
	}
	if err := m.network.connectSite(link, address, namespace); err != nil {
		m.network.unplug(link)
		return nil, errors.Join(fmt.Errorf("site %s: %w", address, err), namespace.Close())
	}
	return &Site{address: address, namespace: namespace}, nil
}

// Address is where the site is reached from everywhere in the lab.
func (s *Site) Address() netip.Addr { return s.address }

// Start starts a command in the site's network namespace.
func (s *Site) Start(cmd *exec.Cmd) error {
	if !s.namespace.IsOpen() {
		return cmd.Start()
	}
	done := make(chan error, 1)
	go func() {
		// A process is born into the namespace of the thread that starts it. The
		// thread stays locked, so that Go ends it with this goroutine.
		runtime.LockOSThread()
		if err := netns.Set(s.namespace); err != nil {
			done <- fmt.Errorf("enter the network of site %s: %w", s.address, err)
			return
		}
		done <- cmd.Start()
	}()
	return <-done
}

// newNamespace makes a network namespace that lives as long as its handle.
func newNamespace() (netns.NsHandle, error) {
	type outcome struct {
		namespace netns.NsHandle
		err       error
	}
	done := make(chan outcome, 1)
	go func() {
		// Making a namespace also moves the thread into it; it ends with this goroutine.
		runtime.LockOSThread()
		namespace, err := netns.New()
		done <- outcome{namespace, err}
	}()
	result := <-done
	if result.err != nil {
		return netns.None(), fmt.Errorf("make network namespace: %w", result.err)
	}
	return result.namespace, nil
}

func (n *network) allocateSite() (netip.Addr, string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	ip := n.nextSite
	if lastSite.Less(ip) {
		return netip.Addr{}, "", fmt.Errorf("all %d addresses for further management clusters are used up", lastSite.As4()[3]-firstSite.As4()[3]+1)
	}
	n.nextSite = ip.Next()
	n.cables++
	return ip, fmt.Sprintf("m%d", n.cables), nil
}

// connectSite lays a cable into the namespace and configures its far end.
func (n *network) connectSite(link string, ip netip.Addr, namespace netns.NsHandle) error {
	if err := n.lay(link, netlink.NsFd(int(namespace))); err != nil {
		return err
	}
	inside, err := netlink.NewHandleAt(namespace)
	if err != nil {
		return fmt.Errorf("configure its network: %w", err)
	}
	defer inside.Close()
	for _, name := range []string{"lo", guest.Interface} {
		device, err := inside.LinkByName(name)
		if err != nil {
			return fmt.Errorf("find %s: %w", name, err)
		}
		if name == guest.Interface {
			if err := inside.AddrAdd(device, address(ip, prefixBits)); err != nil {
				return fmt.Errorf("give %s its address: %w", name, err)
			}
		}
		if err := inside.LinkSetUp(device); err != nil {
			return fmt.Errorf("bring %s up: %w", name, err)
		}
	}
	return nil
}
