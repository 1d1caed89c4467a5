package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/version"
)

var testVersion = version.Version{Major: 1, Minor: 36, Patch: 3, Release: 1}

// server holds what the docker sample of the compatible API sets for servers.
func server() Input {
	return Input{
		Version: testVersion,
		Token:   "s3cret",
		Config:  bootstrapv1.RKE2ConfigSpec{GzipUserData: ptr.To(false)},
		Server: controlplanev1.RKE2ServerConfig{
			DisableComponents: controlplanev1.DisableComponents{
				KubernetesComponents: []controlplanev1.DisabledKubernetesComponent{controlplanev1.DisableCloudController},
			},
			KubeAPIServer: &bootstrapv1.ComponentConfig{ExtraArgs: []string{"--anonymous-auth=true"}},
		},
		Cluster: Cluster{
			EndpointHost: "10.77.0.10",
			PodCIDRs:     []string{"10.45.0.0/16"},
			ServiceCIDRs: []string{"10.46.0.0/16"},
			Domain:       "cluster.local",
		},
	}
}

func firstServer() Input {
	in := server()
	in.Role = FirstServer
	in.CAs = &CAs{
		Server:     KeyPair{Cert: []byte("server cert\n"), Key: []byte("server key\n")},
		Client:     KeyPair{Cert: []byte("client cert\n"), Key: []byte("client key\n")},
		EtcdServer: KeyPair{Cert: []byte("etcd cert\n"), Key: []byte("etcd key\n")},
		EtcdPeer:   KeyPair{Cert: []byte("peer cert\n"), Key: []byte("peer key\n")},
	}
	return in
}

func joiningServer() Input {
	in := server()
	in.Role = JoiningServer
	in.JoinAddress = "10.77.0.10"
	return in
}

func worker() Input {
	return Input{Role: Worker, Version: testVersion, Token: "s3cret", JoinAddress: "fd00::10"}
}

func airGapped() Input {
	in := worker()
	in.Config.AgentConfig.AirGapped = true
	in.Config.AgentConfig.AirGappedChecksum = "ABC123"
	return in
}

func component(name string) *bootstrapv1.ComponentConfig {
	return &bootstrapv1.ComponentConfig{
		ExtraArgs:     []string{name + "=z", "a=b"},
		ExtraEnv:      map[string]string{"B_" + name: "2", "A": "1"},
		ExtraMounts:   map[string]string{"/z": "/y:ro", "/b": "/c"},
		OverrideImage: "registry.example/" + name,
	}
}

// everything sets every field that can be rendered.
func everything() Input {
	in := firstServer()
	ref := &corev1.ObjectReference{Name: "object"}
	in.Cluster.RegistrationHost = "join.example"
	in.Server = controlplanev1.RKE2ServerConfig{
		AuditPolicySecret: ref, BindAddress: "10.0.0.1", AdvertiseAddress: "10.0.0.2", TLSSan: []string{"san.example"},
		ServiceNodePortRange: "30000-31000", ClusterDNS: "10.46.0.10", ClusterDomain: "example.internal",
		DisableComponents: controlplanev1.DisableComponents{
			KubernetesComponents: []controlplanev1.DisabledKubernetesComponent{
				controlplanev1.DisableScheduler, controlplanev1.DisableKubeProxy, controlplanev1.DisableCloudController,
			},
			PluginComponents: []controlplanev1.DisabledPluginComponent{"rke2-coredns", "rke2-traefik"},
		},
		CNI: controlplanev1.Cilium, CNIMultusEnable: true, IngressController: []controlplanev1.IngressController{"traefik"},
		PauseImage: "registry.example/pause",
		Etcd: controlplanev1.EtcdConfig{
			ExposeMetrics: true, CustomConfig: component("etcd"),
			BackupConfig: controlplanev1.EtcdBackupConfig{
				DisableAutomaticSnapshots: ptr.To(false), SnapshotName: "snap", ScheduleCron: "0 */5 * * *", Retention: "7",
				Directory: "/backup",
				S3: &controlplanev1.EtcdS3{
					Endpoint: "s3.example", Bucket: "bucket", Region: "region", Folder: "folder", EnforceSSLVerify: ptr.To(false),
					EndpointCASecret: ref, S3CredentialSecret: ref,
				},
			},
		},
		SecretsEncryption: &controlplanev1.SecretsEncryption{Provider: "secretbox"},
		KubeAPIServer:     component("kube-apiserver"), KubeControllerManager: component("kube-controller-manager"),
		KubeScheduler: component("kube-scheduler"), CloudControllerManager: component("cloud-controller-manager"),
		CloudProviderName: "external", CloudProviderConfigMap: ref, SupervisorMetrics: true, EmbeddedRegistry: true,
		ExternalDatastoreSecret: ref,
	}
	in.Config = bootstrapv1.RKE2ConfigSpec{
		Files: []bootstrapv1.File{
			{Path: "/etc/motd", Content: "replaced"},
			{Path: "/etc/motd", Owner: "daemon:daemon", Permissions: "0600", Content: "  hello {{ you }}\n"},
		},
		PreRKE2Commands:  []string{"export HTTPS_PROXY=http://proxy:3128", "cat <<'X'\n  a\nX"},
		PostRKE2Commands: []string{`echo "it's up" \`},
		PrivateRegistriesConfig: bootstrapv1.Registry{
			Mirrors: map[string]bootstrapv1.Mirror{
				"docker.io": {Endpoint: []string{"https://mirror.example:5000"}, Rewrite: map[string]string{"^(.*)$": "hub/$1"}},
			},
			Configs: map[string]bootstrapv1.RegistryConfig{
				"mirror.example:5000":  {AuthSecret: *ref, TLS: bootstrapv1.TLSConfig{TLSConfigSecret: *ref}},
				"other.example":        {AuthSecret: *ref},
				"insecure.example/sub": {TLS: bootstrapv1.TLSConfig{InsecureSkipVerify: true}},
			},
		},
		AgentConfig: bootstrapv1.RKE2AgentConfig{
			DataDir: "/data/rke2", NodeLabels: []string{"a=b"}, NodeTaints: []string{"c=d:NoSchedule"},
			NodeName: "{{ ds.meta_data.local_hostname }}",
			NTP:      &bootstrapv1.NTP{Servers: []string{"time.example"}}, ImageCredentialProviderConfigMap: ref,
			ContainerRuntimeEndpoint: "/run/x.sock", Snapshotter: "native", CISProfile: bootstrapv1.CIS,
			PodSecurityAdmissionConfigFile: "/etc/psa.yaml", ResolvConf: ref, ProtectKernelDefaults: true,
			SystemDefaultRegistry: "registry.example", EnableContainerdSElinux: true, KubeletPath: "/usr/bin/kubelet",
			Kubelet: &bootstrapv1.ComponentConfig{
				ExtraArgs: []string{"max-pods=50"}, ExtraEnv: map[string]string{"B": `"50%"`, "A": "1 2"},
			},
			KubeProxy: component("kube-proxy"), RuntimeImage: "registry.example/runtime", LoadBalancerPort: 7444,
			AdditionalUserData: bootstrapv1.AdditionalUserData{Config: "users: [{name: capv}]"},
		},
	}
	in.Contents = Contents{
		ResolvConf: []byte("nameserver 10.0.0.53\n"), CredentialProviderConfig: []byte("kind: CredentialProviderConfig\n"),
		CredentialProviderBinaries: "/opt/credentials", AuditPolicy: []byte("kind: Policy\n"),
		CloudProviderConfig: []byte("[Global]\n"),
		S3:                  S3Secrets{AccessKey: "access", SecretKey: "secret", CA: []byte("s3 ca\n")},
		Datastore:           &Datastore{Endpoint: "postgres://db", CA: []byte("ca\n"), Cert: []byte("cert\n"), Key: []byte("key\n")},
		Manifests:           map[string][]byte{"b.yaml": []byte("kind: B\n"), "a.yaml": []byte("kind: A\n")},
		Registries: map[string]RegistrySecrets{
			"mirror.example:5000": {
				Username: "u", Password: "p", CA: []byte("registry ca\n"), Cert: []byte("registry cert\n"), Key: []byte("registry key\n"),
			},
			"other.example": {IdentityToken: "t"},
		},
	}
	return in
}
