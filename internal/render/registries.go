package render

import (
	"maps"
	"path"
	"slices"
	"strings"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// registriesFile is /etc/rancher/rke2/registries.yaml. The keys are those RKE2's own parser reads
// (github.com/rancher/wharfie/pkg/registries).
type registriesFile struct {
	Mirrors map[string]registryMirror `json:"mirrors,omitempty"`
	Configs map[string]registryConfig `json:"configs,omitempty"`
}

type registryMirror struct {
	Endpoints []string          `json:"endpoint,omitempty"`
	Rewrites  map[string]string `json:"rewrite,omitempty"`
}

type registryConfig struct {
	Auth *registryAuth `json:"auth,omitempty"`
	TLS  *registryTLS  `json:"tls,omitempty"`
}

type registryAuth struct {
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	IdentityToken string `json:"identity_token,omitempty"`
}

type registryTLS struct {
	CAFile             string `json:"ca_file,omitempty"`
	CertFile           string `json:"cert_file,omitempty"`
	KeyFile            string `json:"key_file,omitempty"`
	InsecureSkipVerify bool   `json:"insecure_skip_verify,omitempty"`
}

// registryFiles returns registries.yaml and the TLS files it names; nothing when no registry is configured.
func registryFiles(in *Input) ([]file, error) {
	registry := &in.Config.PrivateRegistriesConfig
	if len(registry.Mirrors) == 0 && len(registry.Configs) == 0 {
		return nil, nil
	}
	document := registriesFile{Mirrors: map[string]registryMirror{}, Configs: map[string]registryConfig{}}
	for name, mirror := range registry.Mirrors {
		document.Mirrors[name] = registryMirror{Endpoints: mirror.Endpoint, Rewrites: mirror.Rewrite}
	}
	var files []file
	for _, name := range sortedKeys(registry.Configs) {
		config := registry.Configs[name]
		secrets := in.Contents.Registries[name]
		tls, tlsFiles := registryTLSFiles(name, &config, &secrets)
		document.Configs[name] = registryConfig{Auth: registryAuthOf(&secrets), TLS: tls}
		files = append(files, tlsFiles...)
	}
	yamlFile, err := marshalFile(registriesPath, document)
	if err != nil {
		return nil, err
	}
	return append(files, yamlFile), nil
}

func registryAuthOf(secrets *RegistrySecrets) *registryAuth {
	auth := registryAuth{Username: secrets.Username, Password: secrets.Password, IdentityToken: secrets.IdentityToken}
	if auth == (registryAuth{}) {
		return nil
	}
	return &auth
}

// registryTLSFiles gives each registry a folder of its own, so that no registry's files replace another's.
func registryTLSFiles(name string, config *bootstrapv1.RegistryConfig, secrets *RegistrySecrets) (*registryTLS, []file) {
	tls := registryTLS{InsecureSkipVerify: config.TLS.InsecureSkipVerify}
	var files []file
	place := func(base, mode string, content []byte) string {
		if len(content) == 0 {
			return ""
		}
		target := path.Join(registriesTLSDir, folderName(name), base)
		files = append(files, file{path: target, mode: mode, content: content})
		return target
	}
	tls.CAFile = place("ca.crt", modePublic, secrets.CA)
	tls.CertFile = place("tls.crt", modePublic, secrets.Cert)
	tls.KeyFile = place("tls.key", modeSecret, secrets.Key)
	if tls == (registryTLS{}) {
		return nil, nil
	}
	return &tls, files
}

// folderName makes the name of a registry, a host with an optional port or path, fit to be one folder. Escaping keeps
// different registries apart.
func folderName(registry string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(registry)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
