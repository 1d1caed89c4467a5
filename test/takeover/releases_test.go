package takeover_test

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// release is how one release of the former provider leaves a cluster.
type release struct {
	name string
	// spec is what the user asked for.
	spec func(*controlplanev1.RKE2ControlPlaneSpec)
	// annotations of the control plane.
	annotations map[string]string
	// finalizers of the control plane.
	finalizers []string
	// recorded is the serverConfig as it stands on a Machine; empty for none.
	recorded func(*controlplanev1.RKE2ControlPlane) string
	// config changes what the control plane's spec became in the RKE2Config.
	config func(*bootstrapv1.RKE2Config)
	// authorities names the owner of the certificate authorities' Secrets:
	// the control plane or the RKE2Config of the first server.
	authorities string
	// metadataApplied tells whether labels and annotations of infrastructure
	// machines and RKE2Configs were applied by their own field manager.
	metadataApplied bool
}

// releases has, for each release, a different part of what may be there.
func releases() []release {
	return []release{
		{
			name: "0.22", authorities: "RKE2Config",
			finalizers: []string{controlplanev1.RKE2ControlPlaneLegacyFinalizer, controlplanev1.RKE2ControlPlaneFinalizer},
			spec: func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.AgentConfig.Format = bootstrapv1.CloudConfig
				s.AgentConfig.NodeName = "{{ ds.meta_data.local_hostname }}"
			},
			// Empty objects written out, another order, and a field that no
			// release knows any more.
			recorded: func(*controlplanev1.RKE2ControlPlane) string {
				return `{"tlsSan":["api.example.org"],"disableComponents":{},"etcd":{"backupConfig":{"s3":{"endpoint":"s3.example.org"}},"exposeMetrics":true},` +
					`"formerly":{"known":true},"kubeAPIServer":null,"cni":"calico","pauseImage":"registry.example.org/pause:3.9"}`
			},
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.PreRKE2Commands = []string{}
				c.Spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "\n  - name: admin\n    sudo: ALL\n"}
			},
		},
		{
			name: "0.23", authorities: "RKE2ControlPlane",
			finalizers: []string{controlplanev1.RKE2ControlPlaneFinalizer},
			spec: func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.RegistrationMethod = controlplanev1.RegistrationInternalFirst
			},
			// No record at all.
			config: func(c *bootstrapv1.RKE2Config) { c.Spec.AgentConfig.Format = bootstrapv1.CloudConfig },
		},
		{
			name: "0.24", authorities: "RKE2ControlPlane",
			finalizers: []string{controlplanev1.RKE2ControlPlaneFinalizer},
			annotations: map[string]string{
				controlplanev1.LoadBalancerExclusionAnnotation: "true",
				controlplanev1.RemediationInProgressAnnotation: `{"machine":"demo-cp-gone","timestamp":"2026-05-01T00:00:00Z","retryCount":0}`,
			},
			spec: func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.RegistrationMethod, s.RegistrationAddress = controlplanev1.RegistrationAddress, "register.example.org"
				s.GzipUserData = ptr.To(false)
			},
			recorded: mustRecord,
			config:   func(c *bootstrapv1.RKE2Config) { c.Spec.GzipUserData = nil },
		},
		{
			name: "0.25", authorities: "RKE2ControlPlane", metadataApplied: true,
			finalizers: []string{controlplanev1.RKE2ControlPlaneFinalizer},
			spec: func(s *controlplanev1.RKE2ControlPlaneSpec) {
				s.RegistrationMethod = controlplanev1.RegistrationControlPlaneEndpoint
				s.MachineTemplate.ObjectMeta.Labels = map[string]string{"team": "blue"}
				s.MachineTemplate.ObjectMeta.Annotations = map[string]string{"note": "mine"}
			},
			recorded: mustRecord,
			// Rancher Turtles was here.
			config: func(c *bootstrapv1.RKE2Config) {
				c.Annotations[bootstrapv1.TurtlesSystemAgentAnnotation] = ""
				c.Spec.Files = append(c.Spec.Files, bootstrapv1.File{Path: "/etc/rancher/agent/connect-info-config.json", Content: "{}"})
				c.Spec.PreRKE2Commands = append(c.Spec.PreRKE2Commands, "sh /opt/system-agent-install.sh")
			},
		},
	}
}

// commonSpec is what all releases have in common, with settings that the
// former provider accepted and ignored.
func commonSpec() controlplanev1.RKE2ControlPlaneSpec {
	spec := controlplanev1.RKE2ControlPlaneSpec{
		Version:  "v1.34.1+rke2r1",
		Replicas: ptr.To[int32](3),
		RKE2ConfigSpec: bootstrapv1.RKE2ConfigSpec{
			Files: []bootstrapv1.File{{Path: "/etc/motd", Content: "hello"}},
		},
		ServerConfig: controlplanev1.RKE2ServerConfig{
			TLSSan: []string{"api.example.org"}, CNI: "calico", PauseImage: "registry.example.org/pause:3.9",
			Etcd: controlplanev1.EtcdConfig{
				ExposeMetrics: true,
				BackupConfig:  controlplanev1.EtcdBackupConfig{S3: &controlplanev1.EtcdS3{Endpoint: "s3.example.org"}},
			},
		},
		RolloutStrategy: &controlplanev1.RolloutStrategy{Type: controlplanev1.RollingUpdateStrategyType},
	}
	spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "- name: admin\n  sudo: ALL\n"}
	spec.AgentConfig.NodeAnnotations = map[string]string{"rack": "7"}
	spec.PrivateRegistriesConfig.Configs = map[string]bootstrapv1.RegistryConfig{
		"registry.example.org": {AuthSecret: corev1.ObjectReference{Name: "registry"}},
	}
	spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infraGroup, Kind: "TestMachineTemplate", Name: "small",
	}
	spec.MachineTemplate.Spec.Deletion = controlplanev1.RKE2ControlPlaneMachineTemplateDeletionSpec{
		NodeDrainTimeoutSeconds: ptr.To[int32](120), NodeVolumeDetachTimeoutSeconds: ptr.To[int32](300), NodeDeletionTimeoutSeconds: ptr.To[int32](10),
	}
	return spec
}
