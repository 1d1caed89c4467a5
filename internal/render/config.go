package render

import (
	"net"
	"slices"
	"strings"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// supervisorPort is the port nodes join through. It is fixed in RKE2.
const supervisorPort = "9345"

// settings are the keys of RKE2's config.yaml. The names and meaning of the keys are RKE2's:
// https://docs.rke2.io/reference/server_config and https://docs.rke2.io/reference/linux_agent_config.
type settings map[string]any

// setString, setBool, setInt and setList leave a key out when its value is RKE2's "not set".
func (s settings) setString(key, value string) {
	if value != "" {
		s[key] = value
	}
}

func (s settings) setBool(key string, value bool) {
	if value {
		s[key] = true
	}
}

func (s settings) setInt(key string, value int) {
	if value != 0 {
		s[key] = value
	}
}

func (s settings) setList(key string, values []string) {
	if len(values) > 0 {
		s[key] = values
	}
}

// nodeSettings returns the whole of config.yaml for one machine.
func nodeSettings(in *Input) settings {
	s := settings{"token": in.Token}
	if in.JoinAddress != "" {
		s["server"] = "https://" + net.JoinHostPort(in.JoinAddress, supervisorPort)
	}
	s.addAgent(&in.Config.AgentConfig)
	s.setString("profile", profile(in))
	if in.Config.AgentConfig.ImageCredentialProviderConfigMap != nil {
		s["image-credential-provider-config"] = credentialConfigPath
		s["image-credential-provider-bin-dir"] = in.Contents.CredentialProviderBinaries
	}
	s.addShared(&in.Server)
	if in.Role != Worker {
		s.setString("agent-token", in.AgentToken)
		s.addCluster(in)
		s.addServer(&in.Server)
		s.addEtcd(&in.Server.Etcd)
		s.addS3(in)
		s.addDatastore(in)
	}
	return s
}

// addAgent adds what every node has.
func (s settings) addAgent(agent *bootstrapv1.RKE2AgentConfig) {
	s.setString("data-dir", agent.DataDir)
	s.setString("node-name", agent.NodeName)
	s.setList("node-label", agent.NodeLabels)
	s.setList("node-taint", agent.NodeTaints)
	s.setString("container-runtime-endpoint", agent.ContainerRuntimeEndpoint)
	s.setString("snapshotter", agent.Snapshotter)
	s.setString("pod-security-admission-config-file", agent.PodSecurityAdmissionConfigFile)
	s.setBool("protect-kernel-defaults", agent.ProtectKernelDefaults)
	s.setString("system-default-registry", agent.SystemDefaultRegistry)
	s.setBool("selinux", agent.EnableContainerdSElinux)
	s.setString("kubelet-path", agent.KubeletPath)
	s.setString("runtime-image", agent.RuntimeImage)
	s.setInt("lb-server-port", agent.LoadBalancerPort)
	if agent.ResolvConf != nil {
		s["resolv-conf"] = resolvConfPath
	}
	if agent.Kubelet != nil {
		// RKE2 has no option for the kubelet's mounts and image; its environment is the service's.
		s.setList("kubelet-arg", agent.Kubelet.ExtraArgs)
	}
	s.addComponent("kube-proxy", "kube-proxy-arg", agent.KubeProxy)
}

// addShared adds those of the servers' settings that every node has to know.
func (s settings) addShared(server *controlplanev1.RKE2ServerConfig) {
	s.setString("cloud-provider-name", server.CloudProviderName)
	if server.CloudProviderConfigMap != nil {
		s["cloud-provider-config"] = cloudProviderConfigPath
	}
	s.setString("pause-image", server.PauseImage)
}

// addCluster adds what the Cluster object decides.
func (s settings) addCluster(in *Input) {
	s.setString("cluster-cidr", strings.Join(in.Cluster.PodCIDRs, ","))
	s.setString("service-cidr", strings.Join(in.Cluster.ServiceCIDRs, ","))
	s.setString("cluster-domain", in.Cluster.Domain)
	var sans []string
	for _, san := range slices.Concat(in.Server.TLSSan, []string{in.Cluster.EndpointHost, in.Cluster.RegistrationHost}) {
		if san != "" && !slices.Contains(sans, san) {
			sans = append(sans, san)
		}
	}
	s.setList("tls-san", sans)
}

// addServer adds what only servers have.
func (s settings) addServer(server *controlplanev1.RKE2ServerConfig) {
	if server.AuditPolicySecret != nil {
		s["audit-policy-file"] = auditPolicyPath
	}
	s.setString("bind-address", server.BindAddress)
	s.setString("advertise-address", server.AdvertiseAddress)
	s.setString("service-node-port-range", server.ServiceNodePortRange)
	s.setString("cluster-dns", server.ClusterDNS)
	s.setString("cluster-domain", server.ClusterDomain)
	s.setList("cni", cniList(server))
	s.setList("ingress-controller", texts(server.IngressController))
	s.setBool("supervisor-metrics", server.SupervisorMetrics)
	s.setBool("embedded-registry", server.EmbeddedRegistry)
	if server.SecretsEncryption != nil {
		s.setString("secrets-encryption-provider", string(server.SecretsEncryption.Provider))
	}

	disabled := server.DisableComponents.KubernetesComponents
	s.setBool("disable-scheduler", slices.Contains(disabled, controlplanev1.DisableScheduler))
	s.setBool("disable-kube-proxy", slices.Contains(disabled, controlplanev1.DisableKubeProxy))
	s.setBool("disable-cloud-controller", slices.Contains(disabled, controlplanev1.DisableCloudController))
	s.setList("disable", texts(server.DisableComponents.PluginComponents))

	s.addComponent("kube-apiserver", "kube-apiserver-arg", server.KubeAPIServer)
	s.addComponent("kube-controller-manager", "kube-controller-manager-arg", server.KubeControllerManager)
	s.addComponent("kube-scheduler", "kube-scheduler-arg", server.KubeScheduler)
	s.addComponent("cloud-controller-manager", "kube-cloud-controller-manager-arg", server.CloudControllerManager)
}

// addEtcd adds the settings of embedded etcd and its snapshots.
func (s settings) addEtcd(etcd *controlplanev1.EtcdConfig) {
	s.setBool("etcd-expose-metrics", etcd.ExposeMetrics)
	s.addComponent("etcd", "etcd-arg", etcd.CustomConfig)
	backup := &etcd.BackupConfig
	if backup.DisableAutomaticSnapshots != nil {
		s["etcd-disable-snapshots"] = *backup.DisableAutomaticSnapshots
	}
	s.setString("etcd-snapshot-name", backup.SnapshotName)
	s.setString("etcd-snapshot-schedule-cron", backup.ScheduleCron)
	s.setString("etcd-snapshot-retention", backup.Retention)
	s.setString("etcd-snapshot-dir", backup.Directory)
}

// addS3 adds the bucket that snapshots are copied to. Its certificate is verified unless the user says no.
func (s settings) addS3(in *Input) {
	s3, secrets := in.Server.Etcd.BackupConfig.S3, &in.Contents.S3
	if s3 == nil {
		return
	}
	s["etcd-s3"] = true
	if in.s3FromSecret() {
		// With any other setting of S3 beside it RKE2 ignores the Secret.
		s["etcd-s3-config-secret"] = controlplanev1.S3ConfigSecretName
		return
	}
	s.setString("etcd-s3-endpoint", s3.Endpoint)
	s.setString("etcd-s3-bucket", s3.Bucket)
	s.setString("etcd-s3-region", s3.Region)
	s.setString("etcd-s3-folder", s3.Folder)
	s.setBool("etcd-s3-skip-ssl-verify", s3.EnforceSSLVerify != nil && !*s3.EnforceSSLVerify)
	if s3.S3CredentialSecret != nil {
		s["etcd-s3-access-key"] = secrets.AccessKey
		s["etcd-s3-secret-key"] = secrets.SecretKey
	}
	if s3.EndpointCASecret != nil {
		s["etcd-s3-endpoint-ca"] = s3CAPath
	}
}

// s3FromSecret tells whether servers read the settings of S3, of which the credentials are a part, from a Secret of
// their cluster. The control-plane controller keeps it; it need not exist when a server starts.
func (in *Input) s3FromSecret() bool {
	s3 := in.Server.Etcd.BackupConfig.S3
	return s3 != nil && s3.S3CredentialSecret != nil && in.Version.HasS3ConfigSecret()
}

// addDatastore adds the settings of an external datastore.
func (s settings) addDatastore(in *Input) {
	store := in.Contents.Datastore
	if in.Server.ExternalDatastoreSecret == nil || store == nil {
		return
	}
	s["datastore-endpoint"] = store.Endpoint
	if len(store.CA) > 0 {
		s["datastore-cafile"] = datastoreCAPath
	}
	if len(store.Cert) > 0 {
		s["datastore-certfile"] = datastoreCertPath
		s["datastore-keyfile"] = datastoreKeyPath
	}
}

// addComponent adds the settings of one component. Its arguments have a key of their own because RKE2's names do not
// follow one pattern.
func (s settings) addComponent(name, argKey string, component *bootstrapv1.ComponentConfig) {
	if component == nil {
		return
	}
	s.setList(argKey, component.ExtraArgs)
	s.setString(name+"-image", component.OverrideImage)
	s.setList(name+"-extra-mount", joinPairs(component.ExtraMounts, ":"))
	s.setList(name+"-extra-env", joinPairs(component.ExtraEnv, "="))
}

// joinPairs turns a map into a list in the order of its keys.
func joinPairs(m map[string]string, separator string) []string {
	pairs := make([]string, 0, len(m))
	for _, key := range sortedKeys(m) {
		pairs = append(pairs, key+separator+m[key])
	}
	return pairs
}

func cniList(server *controlplanev1.RKE2ServerConfig) []string {
	if server.CNI == "" {
		return nil
	}
	if server.CNIMultusEnable {
		return []string{"multus", string(server.CNI)}
	}
	return []string{string(server.CNI)}
}

func texts[T ~string](values []T) []string {
	out := make([]string, 0, len(values))
	for _, value := range values {
		out = append(out, string(value))
	}
	return out
}
