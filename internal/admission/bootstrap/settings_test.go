package bootstrap_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/admission/bootstrap"
	"github.com/drover-project/drover/internal/admission/findingtest"
	"github.com/drover-project/drover/internal/admission/reference"
)

type (
	spec = bootstrapv1.RKE2ConfigSpec
	want = findingtest.Want
)

// elsewhere leads into another namespace.
var elsewhere = corev1.ObjectReference{Name: "a", Namespace: "other"}

func TestSettings(t *testing.T) {
	fromSecret := func(ref bootstrapv1.FileSourceRef) *bootstrapv1.FileSource {
		return &bootstrapv1.FileSource{Secret: &ref}
	}
	for name, c := range map[string]struct {
		change func(*spec)
		want   want
	}{
		"nothing set": {change: func(*spec) {}},
		"files": {change: func(s *spec) {
			s.Files = []bootstrapv1.File{
				{Path: "/a", Content: "x", Encoding: bootstrapv1.GzipBase64},
				{Path: "/b", ContentFrom: fromSecret(bootstrapv1.FileSourceRef{Name: "a", Key: "k"})},
			}
		}},
		"packed file for Ignition": {change: func(s *spec) {
			s.AgentConfig.Format = bootstrapv1.Ignition
			s.Files = []bootstrapv1.File{{Path: "/a", Encoding: bootstrapv1.Gzip}, {Path: "/b", Encoding: bootstrapv1.GzipBase64}, {Path: "/c", Encoding: bootstrapv1.Base64}}
		}},
		"install with air gap": {change: func(s *spec) {
			s.AgentConfig.AirGapped, s.AgentConfig.Install = true, &bootstrapv1.Install{Method: bootstrapv1.InstallRPM}
		}, want: want{Warnings: []string{"spec.agentConfig.install: has no effect with airGapped: true"}}},
		"proxy": {change: func(s *spec) {
			s.AgentConfig.Proxy = &bootstrapv1.Proxy{HTTPProxy: "http://proxy:3128", NoProxy: []string{"10.0.0.0/8", ".example.org"}}
		}},
		"unfit proxy": {change: func(s *spec) {
			s.AgentConfig.Proxy = &bootstrapv1.Proxy{
				HTTPProxy: "u:hunter2@proxy", HTTPSProxy: "http://u:hunter2@proxy", NoProxy: []string{"a,b"},
			}
		}, want: want{
			Errors: []string{
				`spec.agentConfig.proxy.httpProxy: Invalid value: "(not shown)": give the URL of a proxy`,
				`spec.agentConfig.proxy.noProxy[0]: Invalid value: "a,b": give one host`,
			},
			Warnings: []string{"spec.agentConfig.proxy.httpsProxy: holds a password, which everybody can read"},
		}},
		"no proxy without a proxy": {change: func(s *spec) {
			s.AgentConfig.Proxy = &bootstrapv1.Proxy{NoProxy: []string{"a"}}
		}, want: want{Warnings: []string{"spec.agentConfig.proxy.noProxy: has no effect without httpProxy or httpsProxy"}}},
		"file from nowhere": {change: func(s *spec) {
			s.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: &bootstrapv1.FileSource{}}}
		}, want: want{Errors: []string{"spec.files[0].contentFrom: Required value: name a secret or a configMap, or take contentFrom out"}}},
		"file from another namespace": {change: func(s *spec) {
			s.Files = []bootstrapv1.File{{Path: "/a", ContentFrom: fromSecret(bootstrapv1.FileSourceRef{Name: "a", Key: "k", Namespace: "other"})}}
		}, want: want{Errors: []string{`spec.files[0].contentFrom.secret.namespace: Invalid value: "other": a Secret of another namespace is not read`}}},
		"references of the agent": {change: func(s *spec) {
			s.AgentConfig.ImageCredentialProviderConfigMap = &elsewhere
			s.AgentConfig.ResolvConf = &corev1.ObjectReference{}
		}, want: want{Errors: []string{
			`spec.agentConfig.imageCredentialProviderConfigMap.namespace: Invalid value: "other": a ConfigMap of another namespace`,
			`spec.agentConfig.resolvConf.name: Required value: name the ConfigMap`,
		}}},
		"kubelet": {change: func(s *spec) {
			s.AgentConfig.Kubelet = &bootstrapv1.ComponentConfig{
				ExtraArgs: []string{"v=2"}, ExtraMounts: map[string]string{"/a": "/b"}, OverrideImage: "image",
			}
		}, want: want{Warnings: []string{
			"spec.agentConfig.kubelet.extraMounts: has no effect: the kubelet is a process of the machine",
			"spec.agentConfig.kubelet.overrideImage: has no effect: the kubelet is no container; use agentConfig.kubeletPath or agentConfig.runtimeImage",
		}}},
		"checksum without air gap": {change: func(s *spec) { s.AgentConfig.AirGappedChecksum = "abc" },
			want: want{Warnings: []string{"spec.agentConfig.airGappedChecksum: has no effect without airGapped: true"}}},
		"checksum with air gap": {change: func(s *spec) { s.AgentConfig.AirGappedChecksum, s.AgentConfig.AirGapped = "abc", true }},
	} {
		t.Run(name, func(t *testing.T) {
			var s spec
			c.change(&s)
			findingtest.Check(t, bootstrap.Settings(field.NewPath("spec"), &s, reference.Policy{Namespace: "own"}), c.want)
		})
	}
}

func TestUserData(t *testing.T) {
	for name, c := range map[string]struct {
		format bootstrapv1.Format
		data   bootstrapv1.AdditionalUserData
		want   want
	}{
		"cloud-config":        {data: bootstrapv1.AdditionalUserData{Config: "users:\n- name: root\n"}},
		"with its first line": {data: bootstrapv1.AdditionalUserData{Config: "#cloud-config\nusers: []\n"}},
		"data":                {data: bootstrapv1.AdditionalUserData{Data: map[string]string{"users": "- name: root"}}},
		"no map": {data: bootstrapv1.AdditionalUserData{Config: "hunter2"}, want: want{Errors: []string{
			"spec.agentConfig.additionalUserData.config: Invalid value: this is not a YAML map: give a whole document"}}},
		"no YAML in data": {data: bootstrapv1.AdditionalUserData{Data: map[string]string{"users": "{"}}, want: want{Errors: []string{
			"spec.agentConfig.additionalUserData.data[users]: Invalid value: this is not YAML"}}},
		"parts the provider writes": {data: bootstrapv1.AdditionalUserData{Config: "runcmd: [ls]\nntp: {}\n"}, want: want{Warnings: []string{
			"spec.agentConfig.additionalUserData.config: its runcmd has no effect, because the provider writes that part: use preRKE2Commands and postRKE2Commands",
			"spec.agentConfig.additionalUserData.config: its ntp has no effect, because the provider writes that part: use agentConfig.ntp"}}},
		"the same in data": {data: bootstrapv1.AdditionalUserData{Data: map[string]string{"write_files": "[]"}}, want: want{Warnings: []string{
			"spec.agentConfig.additionalUserData.data[write_files]: has no effect, because the provider writes that part: use files"}}},
		"strict cloud-config": {data: bootstrapv1.AdditionalUserData{Config: "a: b", Strict: true}, want: want{Warnings: []string{
			"spec.agentConfig.additionalUserData.strict: has no effect without format ignition"}}},
		"Butane": {format: bootstrapv1.Ignition, data: bootstrapv1.AdditionalUserData{Config: "variant: fcos\nversion: 1.4.0\n", Strict: true}},
		"data with Ignition": {format: bootstrapv1.Ignition, data: bootstrapv1.AdditionalUserData{Data: map[string]string{"users": "{"}}, want: want{Warnings: []string{
			"spec.agentConfig.additionalUserData.data: has no effect with format ignition: its keys are those of a cloud-config; use config with a Butane document"}}},
		"no Butane": {format: bootstrapv1.Ignition, data: bootstrapv1.AdditionalUserData{Config: "- a"}, want: want{Errors: []string{
			"spec.agentConfig.additionalUserData.config: Invalid value: this is not a YAML map"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec{AgentConfig: bootstrapv1.RKE2AgentConfig{Format: c.format, AdditionalUserData: c.data}}
			findingtest.Check(t, bootstrap.Settings(field.NewPath("spec"), &s, reference.Policy{}), c.want)
		})
	}
}

func TestRegistries(t *testing.T) {
	login := bootstrapv1.RegistryConfig{AuthSecret: corev1.ObjectReference{Name: "login"}}
	mirror := func(endpoints ...string) map[string]bootstrapv1.Mirror {
		return map[string]bootstrapv1.Mirror{"docker.io": {Endpoint: endpoints}}
	}
	for name, c := range map[string]struct {
		registry bootstrapv1.Registry
		want     want
	}{
		"all forms": {registry: bootstrapv1.Registry{
			Mirrors: map[string]bootstrapv1.Mirror{"*": {}, "docker.io": {Endpoint: []string{"https://mirror.example.com:5000", "http://10.0.0.1/v2", "https://[fd00::1]:5000"}}},
			Configs: map[string]bootstrapv1.RegistryConfig{
				"registry.example.com": login, "registry_1:5000": login, "10.0.0.1:5000": login, "[fd00::1]:443": login, "Registry.Example": login,
				"insecure.example": {TLS: bootstrapv1.TLSConfig{InsecureSkipVerify: true}},
				"tls.example":      {TLS: bootstrapv1.TLSConfig{TLSConfigSecret: corev1.ObjectReference{Name: "tls"}}},
			}}},
		"an entry that says nothing": {registry: bootstrapv1.Registry{Configs: map[string]bootstrapv1.RegistryConfig{"r.example": {}}}, want: want{Errors: []string{
			"spec.privateRegistriesConfig.configs[r.example]: Required value: says nothing about the registry: set authSecret, tls.tlsConfigSecret or tls.insecureSkipVerify: true"}}},
		"other namespaces": {registry: bootstrapv1.Registry{Configs: map[string]bootstrapv1.RegistryConfig{
			"r.example": {AuthSecret: elsewhere, TLS: bootstrapv1.TLSConfig{TLSConfigSecret: elsewhere}}}}, want: want{Errors: []string{
			`spec.privateRegistriesConfig.configs[r.example].authSecret.namespace: Invalid value: "other": a Secret of another namespace`,
			`spec.privateRegistriesConfig.configs[r.example].tls.tlsConfigSecret.namespace: Invalid value: "other"`}}},
		"a URL for a name": {registry: bootstrapv1.Registry{Configs: map[string]bootstrapv1.RegistryConfig{"https://r.example:5000": login, "r.example/team": login}}, want: want{Warnings: []string{
			`spec.privateRegistriesConfig.configs[https://r.example:5000]: RKE2 looks registries up by host and port alone: use "r.example:5000"`,
			`spec.privateRegistriesConfig.configs[r.example/team]: RKE2 looks registries up by host and port alone: use "r.example"`}}},
		"no names": {registry: bootstrapv1.Registry{
			Configs: map[string]bootstrapv1.RegistryConfig{"r example": login, "": login, "r:http": login, "r:0": login, "r:70000": login, "oci://r": login, "[r]:80x": login}}, want: want{Errors: []string{
			`spec.privateRegistriesConfig.configs[r example]: Invalid value: "r example": this names no registry: use its host name or address`,
			`spec.privateRegistriesConfig.configs[]: Invalid value: "": this names no registry`,
			`spec.privateRegistriesConfig.configs[r:http]: Invalid value: "r:http": this names no registry`,
			`spec.privateRegistriesConfig.configs[r:0]: Invalid value`,
			`spec.privateRegistriesConfig.configs[r:70000]: Invalid value`,
			`spec.privateRegistriesConfig.configs[oci://r]: Invalid value`,
			`spec.privateRegistriesConfig.configs[[r]:80x]: Invalid value`}}},
		"no name of a mirrored registry": {registry: bootstrapv1.Registry{Mirrors: map[string]bootstrapv1.Mirror{"docker io": {}}}, want: want{Errors: []string{
			`spec.privateRegistriesConfig.mirrors[docker io]: Invalid value: "docker io": this names no registry`}}},
		"no URLs": {registry: bootstrapv1.Registry{Mirrors: mirror("mirror.example.com", "mirror.example.com:5000", "ftp://mirror", "https://", "::")}, want: want{Errors: []string{
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[0]: Invalid value: "mirror.example.com": this is no URL of a registry: give one with https:// or http:// and a host`,
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[1]: Invalid value: "mirror.example.com:5000": this is no URL`,
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[2]: Invalid value: "ftp://mirror"`,
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[3]: Invalid value: "https://"`,
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[4]: Invalid value: "::"`}}},
		"passwords are not repeated": {registry: bootstrapv1.Registry{Mirrors: mirror("https://me:hunter2@mirror", "ftp://me:hunter2@mirror")}, want: want{Errors: []string{
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[0]: Invalid value: a password does not belong into a URL: put it into a Secret and name that in configs, authSecret`,
			`spec.privateRegistriesConfig.mirrors[docker.io].endpoint[1]: Invalid value: this is no URL of a registry`}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec{PrivateRegistriesConfig: c.registry}
			findingtest.Check(t, bootstrap.Settings(field.NewPath("spec"), &s, reference.Policy{Namespace: "own"}), c.want)
		})
	}
}
