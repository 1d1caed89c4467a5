package render

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// sampleRegistry and samplePath stand for what a user calls a registry and a file.
const (
	sampleRegistry = "registry.example"
	samplePath     = "/etc/sample"
)

// samples are the values of fields that not every text, number or list fits.
var samples = map[string]any{
	"files[].path":                          samplePath,
	"files[].permissions":                   "0600",
	"files[].encoding":                      bootstrapv1.Base64,
	"agentConfig.dataDir":                   "/sample",
	"agentConfig.cisProfile":                bootstrapv1.CIS,
	"agentConfig.format":                    bootstrapv1.CloudConfig,
	"agentConfig.additionalUserData.data":   map[string]string{"timezone": "UTC"},
	"agentConfig.additionalUserData.config": "timezone: UTC",
	"serverConfig.disableComponents.kubernetesComponents": []controlplanev1.DisabledKubernetesComponent{
		controlplanev1.DisableScheduler, controlplanev1.DisableKubeProxy, controlplanev1.DisableCloudController,
	},
	"serverConfig.etcd.backupConfig.retention":           "7",
	"serverConfig.etcd.backupConfig.s3.enforceSslVerify": false,
	"serverConfig.secretsEncryption.provider":            controlplanev1.SecretsEncryptionProvider("secretbox"),
}

// needed is what has to be set for a field, or for those that begin with a path, to count.
var needed = map[string]func(*Input){
	"files[]": func(in *Input) {
		in.Config.Files = []bootstrapv1.File{{Path: "/etc/before", Content: "c2FtcGxl"}}
	},
	"files[].contentFrom": func(in *Input) { in.Contents.Files = map[int][]byte{0: []byte("from elsewhere")} },
	"privateRegistriesConfig.mirrors": func(in *Input) {
		in.Config.PrivateRegistriesConfig.Mirrors = map[string]bootstrapv1.Mirror{sampleRegistry: {}}
	},
	"privateRegistriesConfig.configs": func(in *Input) {
		in.Config.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{sampleRegistry: {}}
	},
	"agentConfig.airGappedChecksum": func(in *Input) { in.Config.AgentConfig.AirGapped = true },
	"agentConfig.proxy.noProxy": func(in *Input) {
		in.Config.AgentConfig.Proxy = &bootstrapv1.Proxy{HTTPProxy: "http://proxy"}
	},
	"agentConfig.ntp.enabled":      func(in *Input) { in.Config.AgentConfig.NTP = &bootstrapv1.NTP{} },
	"serverConfig.cniMultusEnable": func(in *Input) { in.Server.CNI = controlplanev1.Canal },
	"serverConfig.etcd.backupConfig.s3": func(in *Input) {
		in.Server.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{}
	},
	"serverConfig.etcd.backupConfig.s3.endpoint": func(in *Input) { in.Server.Etcd.BackupConfig.S3 = nil },
}

// contents are what references lead to, where the content alone would count.
var contents = map[string]func(*Input){
	"privateRegistriesConfig.configs{}.authSecret": func(in *Input) {
		in.Contents.Registries = map[string]RegistrySecrets{sampleRegistry: {Username: "u", Password: "p"}}
	},
	"privateRegistriesConfig.configs{}.tls.tlsConfigSecret": func(in *Input) {
		in.Contents.Registries = map[string]RegistrySecrets{sampleRegistry: {CA: []byte("a"), Cert: []byte("b"), Key: []byte("c")}}
	},
}

// fieldInputs returns the input of a machine without a field and with it.
func fieldInputs(t *testing.T, role Role, path string) (without, with Input) {
	t.Helper()
	base := func() Input {
		in := Input{Role: role, Version: testVersion, Token: "s3cret", Contents: everything().Contents}
		in.Contents.Manifests, in.Contents.Registries, in.Contents.EncryptionKey = nil, nil, []byte(strings.Repeat("k", 32))
		if role == FirstServer {
			in.CAs = firstServer().CAs
		} else {
			in.JoinAddress = "10.77.0.10"
		}
		// The shorter path comes first.
		for _, prefix := range sortedKeys(needed) {
			if rest, ok := strings.CutPrefix(path, prefix); ok && strings.Trim(rest[:min(len(rest), 1)], ".[{") == "" {
				needed[prefix](&in)
			}
		}
		return in
	}
	without, with = base(), base()
	setField(t, &with, path, samples[path])
	if add := contents[path]; add != nil {
		add(&with)
	}
	return without, with
}

// setField sets a field by its path; the value nil stands for any that fits the type.
func setField(t *testing.T, in *Input, path string, value any) {
	t.Helper()
	root := reflect.ValueOf(&in.Config).Elem()
	if rest, ok := strings.CutPrefix(path, "serverConfig."); ok {
		root, path = reflect.ValueOf(&in.Server).Elem(), rest
	}
	setIn(t, root, path, value)
}

func setIn(t *testing.T, v reflect.Value, path string, value any) {
	t.Helper()
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		setIn(t, v.Elem(), path, value)
		return
	}
	if path == "" {
		setValue(t, v, value)
		return
	}
	name, rest, _ := strings.Cut(path, ".")
	switch {
	case strings.HasSuffix(name, "[]"):
		list := jsonField(t, v, strings.TrimSuffix(name, "[]"))
		if list.Len() == 0 {
			list.Set(reflect.MakeSlice(list.Type(), 1, 1))
		}
		setIn(t, list.Index(0), rest, value)
	case strings.HasSuffix(name, "{}"):
		m := jsonField(t, v, strings.TrimSuffix(name, "{}"))
		item := reflect.New(m.Type().Elem()).Elem()
		setIn(t, item, rest, value)
		m.SetMapIndex(reflect.ValueOf(sampleRegistry), item)
	default:
		setIn(t, jsonField(t, v, name), rest, value)
	}
}

func jsonField(t *testing.T, v reflect.Value, name string) reflect.Value {
	t.Helper()
	for i := range v.NumField() {
		if got, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); got == name {
			return v.Field(i)
		}
	}
	t.Fatalf("%s has no field %s", v.Type(), name)
	return reflect.Value{}
}

func setValue(t *testing.T, v reflect.Value, value any) {
	t.Helper()
	if value != nil {
		v.Set(reflect.ValueOf(value).Convert(v.Type()))
		return
	}
	switch v.Interface().(type) {
	case corev1.ObjectReference:
		v.Set(reflect.ValueOf(corev1.ObjectReference{Name: "sample"}))
		return
	case bootstrapv1.FileSourceRef:
		v.Set(reflect.ValueOf(bootstrapv1.FileSourceRef{Name: "sample", Key: "key"}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("sample")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		v.Index(0).SetString("sample")
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"/sample": "/value"}).Convert(v.Type()))
	default:
		t.Fatalf("no sample for a %s", v.Type())
	}
}
