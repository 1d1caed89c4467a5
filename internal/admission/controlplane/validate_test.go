package controlplane

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/admission/findingtest"
)

var elsewhere = &corev1.ObjectReference{Name: "a", Namespace: "other"}

func TestValidate(t *testing.T) {
	s3 := func(verify *bool) func(*controlPlane) {
		return func(cp *controlPlane) {
			cp.Spec.ServerConfig.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{Endpoint: "s3.example.com", EnforceSSLVerify: verify}
		}
	}
	address := func(address string) func(*controlPlane) {
		return func(cp *controlPlane) {
			cp.Spec.RegistrationMethod, cp.Spec.RegistrationAddress = controlplanev1.RegistrationAddress, address
		}
	}
	for name, c := range map[string]struct {
		change func(*controlPlane)
		want   want
	}{
		"valid":     {change: func(*controlPlane) {}},
		"1 server":  {change: replicas(1)},
		"5 servers": {change: replicas(5)},
		"unset":     {change: func(cp *controlPlane) { cp.Spec.Replicas = nil }},
		"0 servers": {change: replicas(0), want: want{Errors: []string{"spec.replicas: Invalid value: 0: replicas must be at least 1: a control plane with no server has no etcd"}}},
		"2 servers": {change: replicas(2), want: want{Warnings: []string{
			"spec.replicas: 2 servers survive the loss of 0, no more than 1 servers do, because etcd needs more than half of its members: use 1 or 3"}}},
		"4 servers": {change: replicas(4), want: want{Warnings: []string{
			"spec.replicas: 4 servers survive the loss of 1, no more than 3 servers do, because etcd needs more than half of its members: use 3 or 5"}}},
		"2 servers without etcd": {change: func(cp *controlPlane) { replicas(2)(cp); externalDatastore(cp) }},

		"no version":  {change: asked(""), want: want{Errors: []string{"spec.version: Required value: version is required: set it to the RKE2 release of the servers"}}},
		"odd version": {change: asked("1.35"), want: want{Errors: []string{`spec.version: Invalid value: "1.35": this is not an RKE2 release: set it to vX.Y.Z+rke2rN, for example v1.36.3+rke2r1`}}},
		"pre-release": {change: asked("v1.36.0-rc2+rke2r1")},

		"no template": {change: func(cp *controlPlane) {
			cp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{}
		}, want: want{Errors: []string{"spec.machineTemplate.spec.infrastructureRef: Required value: machineTemplate.spec.infrastructureRef is required"}}},
		"half a template": {change: func(cp *controlPlane) {
			cp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{Kind: "LabMachineTemplate"}
		}, want: want{Errors: []string{
			"spec.machineTemplate.spec.infrastructureRef.apiGroup: Required value: give the API group of the infrastructure machine template (in v1beta1 by apiVersion)",
			"spec.machineTemplate.spec.infrastructureRef.name: Required value: give the name of the infrastructure machine template",
		}}},
		"a template without a kind": {change: func(cp *controlPlane) {
			cp.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = ""
		}, want: want{Errors: []string{"spec.machineTemplate.spec.infrastructureRef.kind: Required value"}}},
		"negative time": {change: func(cp *controlPlane) {
			cp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](-1)
		}, want: want{Errors: []string{"spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds: Invalid value: -1: a time limit cannot be negative: set 0 for no limit"}}},
		"label": {change: func(cp *controlPlane) {
			cp.Spec.MachineTemplate.ObjectMeta.Labels = map[string]string{"a": "b c"}
		}, want: want{Errors: []string{`spec.machineTemplate.metadata.labels: Invalid value: "b c"`}}},

		"surge 1":                {change: surge(intstr.FromInt32(1))},
		"surge 0":                {change: surge(intstr.FromInt32(0))},
		"surge 2":                {change: surge(intstr.FromInt32(2)), want: want{Errors: []string{"spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: 2: maxSurge must be 0 or 1"}}},
		"surge in percent":       {change: surge(intstr.FromString("25%")), want: want{Errors: []string{`spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: "25%": maxSurge must be the integer 0 or 1`}}},
		"surge 0 with 1 server":  {change: func(cp *controlPlane) { surge(intstr.FromInt32(0))(cp); replicas(1)(cp) }, want: want{Errors: []string{"spec.rolloutStrategy.rollingUpdate.maxSurge: Invalid value: 0: maxSurge 0 needs replicas of at least 3"}}},
		"another way to rollout": {change: func(cp *controlPlane) { cp.Spec.RolloutStrategy = &controlplanev1.RolloutStrategy{Type: "OnDelete"} }, want: want{Errors: []string{`spec.rolloutStrategy.type: Invalid value: "OnDelete": the type of a rollout must be RollingUpdate`}}},

		"Multus alone":    {change: func(cp *controlPlane) { cp.Spec.ServerConfig.CNIMultusEnable = true }, want: want{Errors: []string{"spec.serverConfig.cni: Required value: cniMultusEnable needs cni"}}},
		"Multus in front": {change: func(cp *controlPlane) { cp.Spec.ServerConfig.CNIMultusEnable, cp.Spec.ServerConfig.CNI = true, "canal" }},

		"address":               {change: address("10.0.0.1")},
		"address, IPv6":         {change: address("fd00::1")},
		"address, name":         {change: address("join.example.com")},
		"no address":            {change: address(""), want: want{Errors: []string{"spec.registrationAddress: Required value: registrationAddress is required with registrationMethod address"}}},
		"address with a port":   {change: address("join:9345"), want: want{Errors: []string{`spec.registrationAddress: Invalid value: "join:9345": this is no host: give a host name or an address alone`}}},
		"address with a scheme": {change: address("https://join"), want: want{Errors: []string{`spec.registrationAddress: Invalid value: "https://join"`}}},

		"name from a variable": {change: nodeName("{{ ds.meta_data.local_hostname }}")},
		"one name for three":   {change: nodeName("node-1"), want: want{Errors: []string{`spec.agentConfig.nodeName: Invalid value: "node-1": several servers cannot have one name, RKE2 refuses the second: use a cloud-init variable`}}},
		"one name for one":     {change: func(cp *controlPlane) { nodeName("node-1")(cp); replicas(1)(cp) }, want: want{Warnings: []string{`spec.agentConfig.nodeName: "node-1": a replacement would have to have the same name`}}},

		"S3, says nothing": {change: s3(nil), want: want{Warnings: []string{"spec.serverConfig.etcd.backupConfig.s3.enforceSslVerify: is not set, so the certificate of s3.example.com is verified; other providers did not do that: set it to true"}}},
		"S3, verified":     {change: s3(ptr.To(true))},
		"S3, unverified":   {change: s3(ptr.To(false))},
		"other namespaces": {change: func(cp *controlPlane) {
			s := &cp.Spec.ServerConfig
			s.AuditPolicySecret, s.CloudProviderConfigMap, s.ExternalDatastoreSecret = elsewhere, elsewhere, elsewhere
			s.SecretsEncryption = &controlplanev1.SecretsEncryption{EncryptionKeySecret: elsewhere}
			s.Etcd.BackupConfig.S3 = &controlplanev1.EtcdS3{EndpointCASecret: elsewhere, S3CredentialSecret: elsewhere}
			cp.Spec.ManifestsConfigMapReference = *elsewhere
			cp.Spec.AgentConfig.ResolvConf = elsewhere
		}, want: want{Errors: []string{
			`spec.serverConfig.auditPolicySecret.namespace: Invalid value: "other": a Secret of`,
			`spec.serverConfig.cloudProviderConfigMap.namespace: Invalid value: "other": a ConfigMap of`,
			`spec.serverConfig.externalDatastoreSecret.namespace: Invalid value: "other": a Secret of`,
			`spec.serverConfig.secretsEncryption.encryptionKeySecret.namespace: Invalid value: "other": a Secret of`,
			`spec.serverConfig.etcd.backupConfig.s3.endpointCAsecret.namespace: Invalid value: "other": a Secret of`,
			`spec.serverConfig.etcd.backupConfig.s3.s3CredentialSecret.namespace: Invalid value: "other": a Secret of`,
			`spec.manifestsConfigMapReference.namespace: Invalid value: "other": a ConfigMap of`,
			`spec.agentConfig.resolvConf.namespace: Invalid value: "other": a ConfigMap of`,
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			cp := valid(c.change)
			findingtest.Check(t, Validate(nil, cp, false), c.want)
			// What is refused to a new object is not refused to a stored one.
			for _, w := range c.want.Errors {
				c.want.Warnings = append(c.want.Warnings, "not new, therefore not refused: "+w)
			}
			c.want.Errors = nil
			findingtest.Check(t, Validate(cp, valid(c.change), false), c.want)
		})
	}
}

func TestOtherNamespacesAllowed(t *testing.T) {
	cp := valid(func(cp *controlPlane) { cp.Spec.ServerConfig.AuditPolicySecret = elsewhere })
	findingtest.Check(t, Validate(nil, cp, true), want{})
}

func TestRegistrationMethodMayChange(t *testing.T) {
	method := func(m controlplanev1.RegistrationMethod) func(*controlPlane) {
		return func(cp *controlPlane) { cp.Spec.RegistrationMethod = m }
	}
	stored := valid(running("v1.35.3+rke2r1"), method(controlplanev1.RegistrationInternalFirst))
	findingtest.Check(t, Validate(stored, valid(method(controlplanev1.RegistrationControlPlaneEndpoint)), false), want{})
}
