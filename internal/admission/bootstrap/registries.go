package bootstrap

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/finding"
	"github.com/drover-project/drover/internal/admission/reference"
)

func registries(l *finding.List, path *field.Path, registry *bootstrapv1.Registry, policy reference.Policy) {
	for _, name := range slices.Sorted(maps.Keys(registry.Mirrors)) {
		at := path.Child("mirrors").Key(name)
		if name != "*" {
			registryName(l, at, name)
		}
		for i, endpoint := range registry.Mirrors[name].Endpoint {
			mirrorEndpoint(l, at.Child("endpoint").Index(i), endpoint)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(registry.Configs)) {
		config, at := registry.Configs[name], path.Child("configs").Key(name)
		registryName(l, at, name)
		secret := config.TLS.TLSConfigSecret
		if config.AuthSecret == (corev1.ObjectReference{}) && secret == (corev1.ObjectReference{}) && !config.TLS.InsecureSkipVerify {
			l.Refuse(field.Required(at, "says nothing about the registry: set authSecret, tls.tlsConfigSecret or tls.insecureSkipVerify: true, or take the entry out"))
		}
		policy.Value(l, at.Child("authSecret"), reference.Secret, config.AuthSecret)
		policy.Value(l, at.Child("tls", "tlsConfigSecret"), reference.Secret, secret)
	}
}

// registryName checks the name of a registry. A scheme or a path in it is let
// through with a warning: RKE2 looks registries up by host and port.
func registryName(l *finding.List, path *field.Path, name string) {
	scheme, rest, hasScheme := strings.Cut(name, "://")
	if !hasScheme {
		rest, scheme = name, ""
	}
	host, rest, hasPath := strings.Cut(rest, "/")
	if !IsHost(withoutPort(host)) || hasScheme && scheme != "http" && scheme != "https" {
		l.Refuse(field.Invalid(path, name, "this names no registry: use its host name or address, with a port when it has one of its own, such as registry.example.com:5000"))
		return
	}
	if hasScheme || hasPath && rest != "" {
		l.Warn(path, "RKE2 looks registries up by host and port alone: use %q", host)
	}
}

func mirrorEndpoint(l *finding.List, path *field.Path, endpoint string) {
	u, err := url.Parse(endpoint)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && IsHost(withoutPort(u.Host)) {
		if u.User != nil {
			l.Refuse(field.Invalid(path, field.OmitValueType{}, "a password does not belong into a URL: put it into a Secret and name that in configs, authSecret"))
		}
		return
	}
	if u != nil && u.User != nil {
		l.Refuse(field.Invalid(path, field.OmitValueType{}, "this is no URL of a registry: give one such as https://mirror.example.com:5000"))
		return
	}
	l.Refuse(field.Invalid(path, endpoint, "this is no URL of a registry: give one with https:// or http:// and a host, such as https://mirror.example.com:5000"))
}

// withoutPort cuts a port off a host, and the brackets off an IPv6 address. It
// returns "" when what follows the colon is no port.
func withoutPort(host string) string {
	if address, port, ok := strings.Cut(host, "]"); ok {
		if !strings.HasPrefix(address, "[") || port != "" && !isPort(strings.TrimPrefix(port, ":")) {
			return ""
		}
		return address[1:]
	}
	if name, port, ok := strings.Cut(host, ":"); ok {
		if !isPort(port) {
			return ""
		}
		return name
	}
	return host
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
