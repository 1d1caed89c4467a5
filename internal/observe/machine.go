package observe

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/membership"
	"github.com/drover-project/drover/internal/world/scope"
)

func (o *Observer) machine(s *scope.Scope, m *clusterv1.Machine, w workloadView) model.Machine {
	infra, hasInfra := s.Infrastructure[m.Name]
	out := model.Machine{
		Name:                m.Name,
		UID:                 string(m.UID),
		Created:             m.CreationTimestamp.Time,
		Version:             m.Spec.Version,
		FailureDomain:       m.Spec.FailureDomain,
		Outdated:            desired.Outdated(s.ControlPlane, m, s.Configs[m.Name], infra.Object, o.Now()),
		OutdatedAt:          desired.OutdatedAt(s.ControlPlane, m, s.Configs[m.Name], o.Now()),
		InfrastructureReady: ptr.Deref(m.Status.Initialization.InfrastructureProvisioned, false),
		InfrastructureGone:  goneFact(infra, hasInfra, o.Now()),
	}
	if node := membership.NodeOf(m, w.nodes); node != nil {
		out.NodeName = node.Name
	} else {
		out.NodeName = m.Status.NodeRef.Name
	}
	out.NodeAbsent = w.problem == "" && out.NodeName == ""
	_, out.DeletionWished = m.Annotations[clusterv1.DeleteMachineAnnotation]
	for _, a := range m.Status.Addresses {
		out.Addresses = append(out.Addresses, a.Address)
	}
	out.Unhealthy, out.RemediationFor = mark(m), remediation(desired.RemediationFor(m))
	hooks(m, &out)
	deletion(m, &out)
	nodeFacts(s, w, &out)
	return out
}

// goneFact rests on the infrastructure machine: while it exists, the host may
// be running, whatever it reports.
func goneFact(e scope.External, looked bool, at time.Time) model.Fact[bool] {
	switch {
	case !looked:
		return model.Unknown[bool]("the Machine names no infrastructure machine", at)
	case e.Err != nil:
		return model.Unknown[bool](e.Err.Error(), at)
	default:
		return model.Known(e.Missing, at)
	}
}

func hooks(m *clusterv1.Machine, out *model.Machine) {
	_, out.PreDrainHook = m.Annotations[controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation]
	_, out.PreTerminateHook = m.Annotations[controlplanev1.PreTerminateHookCleanupAnnotation]
	out.ForeignPreDrain = foreign(m, clusterv1.PreDrainDeleteHookAnnotationPrefix, controlplanev1.PreDrainHookLoadBalancerExclusionAnnotation)
	out.ForeignPreTerminate = foreign(m, clusterv1.PreTerminateDeleteHookAnnotationPrefix, controlplanev1.PreTerminateHookCleanupAnnotation)
}

// foreign lists the hooks of one kind that are not ours, sorted. Core takes
// every annotation with the prefix for a hook.
func foreign(m *clusterv1.Machine, prefix, ours string) []model.Hook {
	var out []model.Hook
	for key, value := range m.Annotations {
		if key != ours && strings.HasPrefix(key, prefix) {
			out = append(out, model.Hook{Name: strings.TrimPrefix(strings.TrimPrefix(key, prefix), "/"), Owner: value})
		}
	}
	slices.SortFunc(out, func(a, b model.Hook) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func deletion(m *clusterv1.Machine, out *model.Machine) {
	if m.DeletionTimestamp.IsZero() {
		return
	}
	out.Deleting = true
	out.DeletingSince = m.DeletionTimestamp.Time
	condition := conditions.Get(m, clusterv1.MachineDeletingCondition)
	if condition == nil {
		return
	}
	out.Phase = model.Phase(condition.Reason)
	out.Detail = condition.Message
	out.PhaseSince = phaseSince(m, out.Phase)
	if out.PhaseSince.IsZero() {
		out.PhaseSince = condition.LastTransitionTime.Time
	}
}

// phaseSince takes the start times core keeps for some phases. The condition
// itself only tells when the deletion began.
func phaseSince(m *clusterv1.Machine, p model.Phase) time.Time {
	d := m.Status.Deletion
	if d == nil {
		return time.Time{}
	}
	switch p {
	case model.PhaseWaitingForPreDrain:
		return d.WaitForPreDrainHookStartTime.Time
	case model.PhaseDraining:
		return d.NodeDrainStartTime.Time
	case model.PhaseWaitingForVolumes:
		return d.WaitForNodeVolumeDetachStartTime.Time
	case model.PhaseWaitingForPreTerm:
		return d.WaitForPreTerminateHookStartTime.Time
	default:
		return time.Time{}
	}
}
