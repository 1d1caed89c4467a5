package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/version"
	"github.com/drover-project/drover/internal/world/scope"
)

// loadBalancerSettle is how long a load balancer may take to let go of a Node
// after the label is set: cloud controllers look about every few seconds.
const loadBalancerSettle = 5 * time.Second

func controlPlane(s *scope.Scope) model.ControlPlane {
	cp := s.ControlPlane
	return model.ControlPlane{
		Namespace:                cp.Namespace,
		Name:                     cp.Name,
		Replicas:                 int(max(1, cp.Spec.ReplicasOrDefault())),
		MaxSurge:                 int(cp.Spec.MaxSurgeOrDefault()),
		Version:                  cp.Spec.Version,
		Problems:                 append(problems(cp), foreignMachines(s)...),
		RolloutHeld:              rolloutHeld(cp),
		Deleting:                 !cp.DeletionTimestamp.IsZero(),
		Initialized:              s.InitializedOnRecord(),
		ExternalDatastore:        hasExternalDatastore(s),
		HiddenEtcd:               s.HiddenEtcd,
		ExcludeFromLoadBalancers: cp.Annotations[controlplanev1.LoadBalancerExclusionAnnotation] != "false",
		LoadBalancerSettle:       loadBalancerSettle,
		Remediation:              remediationPolicy(cp),
	}
}

// hasExternalDatastore is also true while etcd can't be asked for want of its
// authority: its members are left to RKE2 then.
func hasExternalDatastore(s *scope.Scope) bool {
	return s.HiddenEtcd || s.ControlPlane.Spec.ServerConfig.ExternalDatastoreSecret != nil
}

// problems are faults that admission refuses today, but that an object stored
// by another provider or an older release may hold.
func problems(cp *controlplanev1.RKE2ControlPlane) []string {
	var out []string
	if _, err := version.Parse(cp.Spec.Version); err != nil {
		out = append(out, fmt.Sprintf("spec.version %q: %v", cp.Spec.Version, err))
	}
	if t := cp.Spec.RolloutTypeOrDefault(); t != controlplanev1.RollingUpdateStrategyType {
		out = append(out, fmt.Sprintf("type %q of the rollout strategy is not known: set it to RollingUpdate or leave it out", t))
	}
	if surge := cp.Spec.MaxSurge(); surge != nil && *surge != intstr.FromInt32(0) && *surge != intstr.FromInt32(1) {
		out = append(out, fmt.Sprintf("maxSurge of the rollout strategy is %s: set it to 0 or 1, an etcd cluster grows by one member at a time", surge.String()))
	}
	if replicas := cp.Spec.ReplicasOrDefault(); cp.Spec.MaxSurgeOrDefault() == 0 && replicas < 3 {
		out = append(out, fmt.Sprintf("maxSurge of the rollout strategy is 0 with %d replicas: set it to 1 or use at least 3 replicas, or a rollout would lose etcd's quorum", replicas))
	}
	if name := cp.Spec.AgentConfig.NodeName; name != "" && !strings.Contains(name, "{{") && cp.Spec.ReplicasOrDefault() > 1 {
		out = append(out, fmt.Sprintf("spec.agentConfig.nodeName is %q for all servers: RKE2 takes in no second node of a name; "+
			"leave it out, or use an expression of the infrastructure's metadata, as in {{ ds.meta_data.local_hostname }}", name))
	}
	return out
}

// foreignMachines are control-plane Machines of the Cluster that belong to
// somebody else or to nobody. Servers may run behind them: next to them a first
// server would start a second cluster.
func foreignMachines(s *scope.Scope) []string {
	if len(s.Foreign) == 0 {
		return nil
	}
	names := s.Foreign.Names()
	slices.Sort(names)
	return []string{fmt.Sprintf("Machines %s are control-plane Machines of Cluster %s and not controlled by this control plane: "+
		"make it their controller (metadata.ownerReferences) or delete them", strings.Join(names, ", "), s.Cluster.Name)}
}

func cluster(s *scope.Scope, at time.Time) model.Cluster {
	c := s.Cluster
	out := model.Cluster{
		Name:                c.Name,
		Deleting:            !c.DeletionTimestamp.IsZero(),
		InfrastructureReady: ptr.Deref(c.Status.Initialization.InfrastructureProvisioned, false),
		Template:            templateFact(s.Template, at),
		PendingVersion:      pendingVersion(s),
		TemplateName:        s.Template.Ref.Kind + "/" + s.Template.Ref.Name,
		Registration:        model.Unknown[bool]("not looked at: no server is about to join", at),
	}
	if c.Spec.ControlPlaneEndpoint.IsValid() {
		out.Endpoint = c.Spec.ControlPlaneEndpoint.String()
	}
	for _, domain := range c.Status.FailureDomains {
		if ptr.Deref(domain.ControlPlane, false) {
			out.FailureDomains = append(out.FailureDomains, domain.Name)
		}
	}
	slices.Sort(out.FailureDomains)
	return out
}

func templateFact(e scope.External, at time.Time) model.Fact[bool] {
	if e.Err != nil {
		return model.Unknown[bool](e.Err.Error(), at)
	}
	return model.Known(!e.Missing, at)
}
