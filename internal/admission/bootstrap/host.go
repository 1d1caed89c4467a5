package bootstrap

import (
	"net/netip"
	"regexp"
)

// hostName is wider than the rule for names in DNS: names with an underscore or
// capital letters do resolve in many networks.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// IsHost tells whether something is an IP address or may be a host name, without
// a port.
func IsHost(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return true
	}
	return len(s) <= 253 && hostName.MatchString(s)
}
