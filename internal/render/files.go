package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// Permissions of the files the provider writes. All belong to root.
const (
	modePublic = "0644"
	modeGroup  = "0640"
	modeSecret = "0600"
	modeScript = "0700"

	ownerRoot = "root:root"
)

// file is one file on the machine. The provider's own files have no owner and encoding: they are root's and plain.
type file struct {
	path     string
	owner    string
	mode     string
	encoding bootstrapv1.Encoding
	content  []byte
	// expand is true for the one file in which template expressions of the user's are meant to be replaced.
	expand bool
}

// machineFiles returns every file of the machine in the order they are written: the user's first, the provider's own
// last.
func machineFiles(in *Input) ([]file, error) {
	own, err := ownFiles(in)
	if err != nil {
		return nil, err
	}
	users, err := userFiles(in)
	if err != nil {
		return nil, err
	}
	for i := range users {
		if slices.ContainsFunc(own, func(f file) bool { return f.path == users[i].path }) {
			return nil, fmt.Errorf("files: %s is written by the provider itself; take it out of files", users[i].path)
		}
	}
	return append(users, own...), nil
}

// ownFiles returns the files the provider makes.
func ownFiles(in *Input) ([]file, error) {
	files := referencedFiles(in)
	registries, err := registryFiles(in)
	if err != nil {
		return nil, err
	}
	encryption, err := encryptionFiles(in)
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, registries, encryption)
	if in.CAs != nil {
		files = append(files, caFiles(in)...)
	}
	for _, name := range sortedKeys(in.Contents.Manifests) {
		files = append(files, file{
			path: in.dataPath("server", "manifests", name), mode: modeSecret, content: in.Contents.Manifests[name],
		})
	}
	settings := nodeSettings(in)
	if err := checkSettings(in, settings); err != nil {
		return nil, err
	}
	config, err := marshalFile(configPath, settings)
	if err != nil {
		return nil, err
	}
	config.expand = true
	return append(files, config, file{path: ScriptPath, mode: modeScript, content: []byte(script(in))}), nil
}

// referencedFiles returns the files config.yaml points to and whose content comes from a Secret or ConfigMap.
func referencedFiles(in *Input) []file {
	var files []file
	add := func(path, mode string, content []byte) {
		files = append(files, file{path: path, mode: mode, content: content})
	}
	agent, contents := &in.Config.AgentConfig, &in.Contents
	if agent.ResolvConf != nil {
		add(resolvConfPath, modePublic, contents.ResolvConf)
	}
	if agent.ImageCredentialProviderConfigMap != nil {
		add(credentialConfigPath, modeSecret, contents.CredentialProviderConfig)
	}
	if in.Server.CloudProviderConfigMap != nil {
		add(cloudProviderConfigPath, modeSecret, contents.CloudProviderConfig)
	}
	if agent.Kubelet != nil && len(agent.Kubelet.ExtraEnv) > 0 {
		add(in.dropInPath("50-kubelet-environment"), modeSecret, environmentDropIn(agent.Kubelet.ExtraEnv))
	}
	if proxy := proxyEnvironment(in); proxy != nil {
		add(in.dropInPath(proxyDropIn), modeSecret, environmentDropIn(proxy))
	}
	if in.Role == Worker {
		return files
	}
	if in.Server.AuditPolicySecret != nil {
		add(auditPolicyPath, modeGroup, contents.AuditPolicy)
	}
	if s3 := in.Server.Etcd.BackupConfig.S3; s3 != nil && s3.EndpointCASecret != nil && !in.s3FromSecret() {
		add(s3CAPath, modeGroup, contents.S3.CA)
	}
	if store := contents.Datastore; in.Server.ExternalDatastoreSecret != nil && store != nil {
		if len(store.CA) > 0 {
			add(datastoreCAPath, modeGroup, store.CA)
		}
		if len(store.Cert) > 0 {
			add(datastoreCertPath, modeGroup, store.Cert)
			add(datastoreKeyPath, modeSecret, store.Key)
		}
	}
	return files
}

// environmentDropIn sets environment variables of the RKE2 service; the kubelet is its child. The quoting is
// systemd.exec(5)'s.
func environmentDropIn(env map[string]string) []byte {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%", "\n", `\n`)
	var b strings.Builder
	b.WriteString("[Service]\n")
	for _, pair := range joinPairs(env, "=") {
		fmt.Fprintf(&b, "Environment=\"%s\"\n", quote.Replace(pair))
	}
	return []byte(b.String())
}

// caFiles returns the certificate authorities, at the places where RKE2 looks for them before it makes its own.
func caFiles(in *Input) []file {
	var files []file
	add := func(pair KeyPair, elem ...string) {
		if len(pair.Cert) == 0 {
			return
		}
		base := in.dataPath(append([]string{"server", "tls"}, elem...)...)
		files = append(files,
			file{path: base + ".crt", mode: modePublic, content: pair.Cert},
			file{path: base + ".key", mode: modeSecret, content: pair.Key},
		)
	}
	add(in.CAs.Server, "server-ca")
	add(in.CAs.Client, "client-ca")
	add(in.CAs.EtcdServer, "etcd", "server-ca")
	add(in.CAs.EtcdPeer, "etcd", "peer-ca")
	return files
}

// userFiles returns the files the user asked for. Where the same path is given twice the last one counts, as on the
// machine it would.
func userFiles(in *Input) ([]file, error) {
	var files []file
	for i := range in.Config.Files {
		spec := &in.Config.Files[i]
		content := []byte(spec.Content)
		if spec.ContentFrom != nil {
			var ok bool
			if content, ok = in.Contents.Files[i]; !ok {
				return nil, fmt.Errorf("files[%d] (%s): the content of contentFrom was not read", i, spec.Path)
			}
		}
		if !validMode(spec.Permissions) {
			return nil, fmt.Errorf("files[%d] (%s): permissions %q is not octal: write it like \"0640\"",
				i, spec.Path, spec.Permissions)
		}
		if !strings.HasPrefix(spec.Path, "/") {
			return nil, fmt.Errorf("files[%d]: path %q is not absolute", i, spec.Path)
		}
		if !isName(spec.Path) || !isName(spec.Owner) {
			return nil, fmt.Errorf("files[%d] (%q): path and owner have to be text, in UTF-8 and without null characters",
				i, spec.Path)
		}
		files = slices.DeleteFunc(files, func(f file) bool { return f.path == spec.Path })
		files = append(files, file{
			path: spec.Path, owner: spec.Owner, mode: spec.Permissions, encoding: spec.Encoding, content: content,
		})
	}
	return files, nil
}

// isName tells whether a document can carry s and a machine can have a file or user of that name.
func isName(s string) bool {
	return utf8.ValidString(s) && !strings.Contains(s, "\x00")
}

// validMode tells whether s is empty or at most four octal digits, with or without a leading "0o".
func validMode(s string) bool {
	digits := strings.TrimPrefix(s, "0o")
	return len(digits) <= 4 && strings.Trim(digits, "01234567") == "" && (s == "" || digits != "")
}

// marshalFile returns a file with a value in YAML form. What the provider writes that way holds credentials.
func marshalFile(path string, value any) (file, error) {
	content, err := yaml.Marshal(value)
	if err != nil {
		return file{}, fmt.Errorf("marshal %s: %w", path, err)
	}
	return file{path: path, mode: modeSecret, content: content}, nil
}
