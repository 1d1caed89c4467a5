package desired_test

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/worldtest"
)

// now is when the tests are.
var now = time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)

func controlPlane() (*controlplanev1.RKE2ControlPlane, *clusterv1.Cluster) {
	cp := &controlplanev1.RKE2ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "cp", UID: "u"}}
	cp.Spec.Version = "v1.36.3+rke2r1"
	cp.Spec.MachineTemplate.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: worldtest.InfraGroup, Kind: "LabMachineTemplate", Name: "t"}
	cp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = ptr.To[int32](120)
	cp.Spec.MachineTemplate.ObjectMeta = clusterv1.ObjectMeta{
		Labels:      map[string]string{"team": "x", clusterv1.ClusterNameLabel: "not-yours"},
		Annotations: map[string]string{"note": "y"},
	}
	cp.Spec.ServerConfig.TLSSan = []string{"example.org"}
	cp.Spec.Files = []bootstrapv1.File{{Path: "/a"}}
	return cp, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "c"}}
}

func server(t *testing.T) (*controlplanev1.RKE2ControlPlane, desired.Server) {
	t.Helper()
	cp, cluster := controlPlane()
	s, err := desired.NewServer(cp, cluster, worldtest.Template("t"), "cp-x", "fd1")
	if err != nil {
		t.Fatal(err)
	}
	return cp, s
}

func TestNewServer(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	for _, obj := range []metav1.Object{s.Infrastructure, s.Config, s.Machine} {
		g.Expect(obj.GetName()).To(Equal("cp-x"))
		g.Expect(obj.GetNamespace()).To(Equal("demo"))
		g.Expect(obj.GetLabels()).To(And(HaveKeyWithValue("team", "x"), HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"), HaveKeyWithValue(clusterv1.MachineControlPlaneNameLabel, "cp")))
		g.Expect(obj.GetAnnotations()).To(HaveKeyWithValue("note", "y"))
		g.Expect(obj.GetOwnerReferences()).To(HaveLen(1))
	}
	g.Expect(metav1.IsControlledBy(s.Machine, cp)).To(BeTrue())
	g.Expect(metav1.GetControllerOf(s.Infrastructure)).To(BeNil())
	g.Expect(s.Machine.Spec.InfrastructureRef).To(Equal(clusterv1.ContractVersionedObjectReference{APIGroup: worldtest.InfraGroup, Kind: "LabMachine", Name: "cp-x"}))
	g.Expect(s.Machine.Spec.Bootstrap.ConfigRef.Name).To(Equal("cp-x"))
	g.Expect(s.Machine.Spec.Deletion.NodeDrainTimeoutSeconds).To(HaveValue(BeEquivalentTo(120)))
	g.Expect(s.Infrastructure.GetAnnotations()).To(HaveKeyWithValue(clusterv1.TemplateClonedFromGroupKindAnnotation, "LabMachineTemplate."+worldtest.InfraGroup))
	g.Expect(desired.Outdated(cp, s.Machine, s.Config, s.Infrastructure, now)).To(BeEmpty())
}

func TestName(t *testing.T) {
	g := NewWithT(t)
	cp, _ := controlPlane()
	cp.Name = strings.Repeat("a", 100)
	name := desired.Name(cp, "abcde")
	g.Expect(name).To(HaveLen(63))
	g.Expect(name).To(HaveSuffix("-abcde"))
}

func TestOutdated(t *testing.T) {
	type change struct {
		cp      func(*controlplanev1.RKE2ControlPlane)
		machine func(*clusterv1.Machine)
		config  func(*bootstrapv1.RKE2Config)
		want    []string
	}
	for name, tt := range map[string]change{
		"version": {
			cp:   func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Version = "v1.36.3+rke2r2" },
			want: []string{"version v1.36.3+rke2r1, wanted v1.36.3+rke2r2"},
		},
		"server configuration": {
			cp:   func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.ServerConfig.BindAddress = "1.2.3.4" },
			want: []string{"server configuration changed: bindAddress"},
		},
		"server configuration, other order and empty parts": {
			machine: func(m *clusterv1.Machine) {
				m.Annotations[controlplanev1.ServerConfigurationAnnotation] = `{"etcd":{"backupConfig":{}},"tlsSan":["example.org"],"disableComponents":{"pluginComponents":[]}}`
			},
		},
		"no server configuration on record": {
			machine: func(m *clusterv1.Machine) { delete(m.Annotations, controlplanev1.ServerConfigurationAnnotation) },
		},
		"unreadable record": {
			machine: func(m *clusterv1.Machine) { m.Annotations[controlplanev1.ServerConfigurationAnnotation] = "{" },
		},
		"fields on record that nobody knows": {
			machine: func(m *clusterv1.Machine) {
				m.Annotations[controlplanev1.ServerConfigurationAnnotation] = `{"tlsSan":["example.org"],"formerField":{"a":1}}`
			},
		},
		"files and commands": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.Files = append(cp.Spec.Files, bootstrapv1.File{Path: "/b"})
				cp.Spec.PreRKE2Commands = []string{"true"}
			},
			want: []string{"RKE2 configuration changed: files, preRKE2Commands"},
		},
		"defaults written out": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.AgentConfig.Format = bootstrapv1.CloudConfig
				c.Spec.GzipUserData = ptr.To(false)
				c.Spec.PostRKE2Commands = []string{}
				c.Spec.PrivateRegistriesConfig.Mirrors = map[string]bootstrapv1.Mirror{}
			},
		},
		"additions of Turtles": {
			config: func(c *bootstrapv1.RKE2Config) {
				c.Annotations[bootstrapv1.TurtlesSystemAgentAnnotation] = ""
				c.Spec.Files = append([]bootstrapv1.File{{Path: "/etc/rancher/agent/config.yaml"}}, c.Spec.Files...)
				c.Spec.PostRKE2Commands = []string{"sh /opt/system-agent-install.sh"}
			},
		},
		"the same without Turtles' mark": {
			config: func(c *bootstrapv1.RKE2Config) { c.Spec.PostRKE2Commands = []string{"sh"} },
			want:   []string{"RKE2 configuration changed: postRKE2Commands"},
		},
		"changed beside Turtles' additions": {
			cp:     func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.Files[0].Content = "new" },
			config: func(c *bootstrapv1.RKE2Config) { c.Annotations[bootstrapv1.TurtlesSystemAgentAnnotation] = "" },
			want:   []string{"RKE2 configuration changed: files"},
		},
		"user data indented anew and without the keys that have no effect": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "- name: a\n  groups: [b]\n", "runcmd": "- true"}
			},
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "\n  - name: a\n    groups:\n    - b"}
			},
		},
		"other user data": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "- name: a"}
			},
			config: func(c *bootstrapv1.RKE2Config) {
				c.Spec.AgentConfig.AdditionalUserData.Data = map[string]string{"users": "- name: b"}
			},
			want: []string{"RKE2 configuration changed: agentConfig"},
		},
		"empty parts inside of a list": {
			config: func(c *bootstrapv1.RKE2Config) { c.Spec.Files[0].ContentFrom = &bootstrapv1.FileSource{} },
		},
		"name of the node": {
			cp:   func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.AgentConfig.NodeName = "{{ ds.meta_data.name }}" },
			want: []string{"RKE2 configuration changed: agentConfig"},
		},
		"name that another provider never gave": {
			cp:      func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.AgentConfig.NodeName = "" },
			machine: func(m *clusterv1.Machine) { delete(m.Annotations, controlplanev1.MadeByAnnotation) },
			config:  func(c *bootstrapv1.RKE2Config) { c.Spec.AgentConfig.NodeName = "cp" },
		},
		"registration method": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.RegistrationMethod, cp.Spec.RegistrationAddress = controlplanev1.RegistrationAddress, "register.example.org"
			},
			want: []string{"registration through control-plane-endpoint, wanted address register.example.org"},
		},
		"registration address": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.RegistrationMethod, cp.Spec.RegistrationAddress = controlplanev1.RegistrationAddress, "new.example.org"
			},
			machine: func(m *clusterv1.Machine) {
				m.Annotations[controlplanev1.RegistrationAnnotation] = "address=old.example.org"
			},
			want: []string{"registration through address old.example.org, wanted address new.example.org"},
		},
		"registration address without its method": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.RegistrationAddress = "register.example.org" },
		},
		"registration method written out": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.RegistrationMethod = controlplanev1.RegistrationControlPlaneEndpoint
			},
		},
		"registration of a Machine taken over": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.RegistrationMethod = controlplanev1.RegistrationInternalFirst
			},
			machine: func(m *clusterv1.Machine) { delete(m.Annotations, controlplanev1.RegistrationAnnotation) },
		},
		"what webhooks of others and core write on a Machine and its config": {
			machine: func(m *clusterv1.Machine) {
				m.Labels["foreign"], m.Annotations["foreign"] = "label", "annotation"
				m.Spec.MinReadySeconds = ptr.To[int32](0)
				m.Spec.Deletion = clusterv1.MachineDeletionSpec{NodeDeletionTimeoutSeconds: ptr.To[int32](10)}
				m.Spec.ProviderID, m.Spec.Bootstrap.DataSecretName = "lab://a", ptr.To("cp-x")
				m.Spec.ReadinessGates = append(m.Spec.ReadinessGates, clusterv1.MachineReadinessGate{ConditionType: "example.com/scanned"})
				m.Spec.Taints = []clusterv1.MachineTaint{{Key: "foreign", Effect: corev1.TaintEffectNoSchedule}}
			},
			config: func(c *bootstrapv1.RKE2Config) {
				c.Labels["foreign"], c.Annotations["foreign"] = "label", "annotation"
				c.Spec.AgentConfig.Format = bootstrapv1.CloudConfig
			},
		},
		"template": {
			cp:   func(cp *controlplanev1.RKE2ControlPlane) { cp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "big" },
			want: []string{"infrastructure template t, wanted big"},
		},
		"template kind": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.MachineTemplate.Spec.InfrastructureRef.Kind = "MetalTemplate"
			},
			want: []string{"infrastructure template LabMachineTemplate.infrastructure.cluster.x-k8s.io t, wanted MetalTemplate.infrastructure.cluster.x-k8s.io t"},
		},
		"what reaches servers in place": {
			cp: func(cp *controlplanev1.RKE2ControlPlane) {
				cp.Spec.MachineTemplate.ObjectMeta.Labels["team"] = "z"
				cp.Spec.MachineTemplate.Spec.Deletion.NodeDrainTimeoutSeconds = nil
				cp.Spec.MachineTemplate.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: "example.com/a"}}
				cp.Spec.MachineTemplate.Spec.Taints = []clusterv1.MachineTaint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
				cp.Spec.ManifestsConfigMapReference = corev1.ObjectReference{Name: "m"}
				cp.Spec.AgentConfig.NodeAnnotations = map[string]string{"rack": "7"}
				cp.Spec.Rollout.Before.CertificatesExpiryDays = ptr.To[int32](30)
				cp.Spec.Remediation.MaxRetry = ptr.To[int32](1)
				cp.Spec.Replicas = ptr.To[int32](5)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cp, s := server(t)
			if tt.cp != nil {
				tt.cp(cp)
			}
			if tt.machine != nil {
				tt.machine(s.Machine)
			}
			if tt.config != nil {
				tt.config(s.Config)
			}
			NewWithT(t).Expect(desired.Outdated(cp, s.Machine, s.Config, s.Infrastructure, now)).To(Equal(tt.want))
		})
	}
}

func TestMissingObjectsAreNoDifference(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	g.Expect(desired.Outdated(cp, s.Machine, nil, nil, now)).To(BeEmpty())
	s.Infrastructure.SetAnnotations(nil)
	cp.Spec.MachineTemplate.Spec.InfrastructureRef.Name = "big"
	g.Expect(desired.Outdated(cp, s.Machine, s.Config, s.Infrastructure, now)).To(BeEmpty())
}

func TestUpdatedMachineKeepsWhatOnlyAReplacementChanges(t *testing.T) {
	g := NewWithT(t)
	cp, s := server(t)
	_, cluster := controlPlane()
	cp.Spec.Version = "v1.37.0+rke2r1"
	cp.Spec.ServerConfig.TLSSan = nil
	cp.Spec.MachineTemplate.ObjectMeta.Annotations = map[string]string{"note": "new"}
	got := desired.UpdatedMachine(cp, cluster, s.Machine)
	g.Expect(got.Spec).To(Equal(s.Machine.Spec))
	g.Expect(got.Annotations).To(HaveKeyWithValue("note", "new"))
	g.Expect(got.Annotations[controlplanev1.ServerConfigurationAnnotation]).To(Equal(s.Machine.Annotations[controlplanev1.ServerConfigurationAnnotation]))
	for hook := range desired.Hooks() {
		g.Expect(got.Annotations).To(HaveKey(hook))
	}
}
