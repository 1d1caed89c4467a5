package guest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"

	"github.com/drover-project/drover/lab/internal/paths"
)

func configureNetwork(config Config) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find lo: %w", err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	link, err := netlink.LinkByName(Interface)
	if err != nil {
		return fmt.Errorf("find %s: %w", Interface, err)
	}
	address := &netlink.Addr{IPNet: &net.IPNet{
		IP:   config.Address.Addr().AsSlice(),
		Mask: net.CIDRMask(config.Address.Bits(), config.Address.Addr().BitLen()),
	}}
	if err := netlink.AddrAdd(link, address); err != nil {
		return fmt.Errorf("give %s the address %s: %w", Interface, config.Address, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("bring %s up: %w", Interface, err)
	}
	route := &netlink.Route{LinkIndex: link.Attrs().Index, Gw: config.Gateway.AsSlice()}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("route through %s: %w", config.Gateway, err)
	}
	return nil
}

// writeIdentity writes the files that tell a machine who it is, and links its commands.
func writeIdentity(instance Instance) error {
	metadata, err := json.Marshal(instance)
	if err != nil {
		return fmt.Errorf("instance metadata: %w", err)
	}
	id := sha256.Sum256([]byte(instance.ProviderID))
	files := []struct{ path, content string }{
		{"/etc/hostname", instance.Hostname + "\n"},
		{"/etc/hosts", fmt.Sprintf("127.0.0.1 localhost\n::1 localhost\n%s %s\n", instance.IP, instance.Hostname)},
		// A lab has no name servers; an empty file makes look-ups fail at once.
		{"/etc/resolv.conf", "# This machine has no name server.\n"},
		{"/etc/machine-id", hex.EncodeToString(id[:16]) + "\n"},
		{paths.InstanceFile, string(metadata)},
	}
	for _, file := range files {
		if err := replaceFile(file.path, []byte(file.content)); err != nil {
			return err
		}
	}
	for _, name := range commands {
		if err := os.Symlink(paths.LabBinary, filepath.Join(paths.AppletDir, name)); err != nil {
			return fmt.Errorf("install command: %w", err)
		}
	}
	return nil
}

// replaceFile puts a new file in place of an old one or of a link, which in a
// user namespace it could not write to.
func replaceFile(path string, content []byte) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
