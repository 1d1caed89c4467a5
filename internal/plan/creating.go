package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// specCanBeFollowed stops before anything new is begun when the spec asks for
// something that can't be done safely. What has begun is finished all the
// same: the leaving rules come before this one.
var specCanBeFollowed = Rule{
	Name: "spec_can_be_followed",
	Why:  "A version that can't be read or a surge that can't be kept would leave the control plane half changed.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.ControlPlane.Problems) == 0 {
			return pass()
		}
		return wait(v.specProblems())
	},
}

func (v *view) specProblems() model.Wait {
	return model.Wait{
		Operator: true,
		Message:  strings.Join(v.ControlPlane.Problems, "; "),
		Blockers: []model.Blocker{v.controlPlaneBlocker("correct the spec")},
	}
}

// firstServerStarts makes the server that begins the cluster, once.
var firstServerStarts = Rule{
	Name: "first_server_starts_alone",
	Why:  "Two first servers would be two clusters with one name.",
	decide: func(v *view) (model.Decision, bool) {
		if v.ControlPlane.Initialized || len(v.deleting) > 0 {
			return pass()
		}
		if len(v.staying) == 0 {
			if w, blocked := v.missingPrerequisite(); blocked {
				return wait(w)
			}
			return do(model.CreateMachine{Purpose: model.First, FailureDomain: v.nextFailureDomain()})
		}
		for _, m := range v.staying {
			if !m.UpToDate() && m.NodeName == "" {
				return do(model.DeleteMachine{Machine: m.Name, Why: "it never became a server and differs from the spec: " + strings.Join(m.Outdated, ", ")})
			}
		}
		first := v.staying[0]
		w := v.joiningWait(first, "")
		w.Message = fmt.Sprintf("Machine %s starts the cluster; its API server has not answered yet", first.Name)
		return wait(w)
	},
}

// dataIsNotStartedOver refuses to begin a new, empty cluster under the name of
// one that had data.
var dataIsNotStartedOver = Rule{
	Name: "data_is_not_started_over",
	Why:  "A new first server would begin with an empty etcd under the old name.",
	decide: func(v *view) (model.Decision, bool) {
		if !v.ControlPlane.Initialized || len(v.machines) > 0 || v.dataAreElsewhere() {
			return pass()
		}
		return wait(model.Wait{
			Operator: true,
			Message:  "all control-plane Machines are gone, and their etcd data with them",
			Blockers: []model.Blocker{v.controlPlaneBlocker("restore an etcd snapshot, or delete the Cluster and create it anew")},
		})
	},
}

// oneServerJoinsAtATime waits for a server that is on its way in. A Machine
// that never got that far and differs from the spec is given up: it may be
// the very fault that the change of the spec mends.
var oneServerJoinsAtATime = Rule{
	Name: "one_server_joins_at_a_time",
	Why:  "etcd takes one learner at a time, and each join is proof that the next one can work.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.staying) == 0 {
			return pass()
		}
		if !v.ControlPlane.ExternalDatastore && !v.Etcd.Members.Known {
			return wait(v.unknownMembers("", "nothing is changed"))
		}
		m, ok := v.joining()
		if !ok {
			return pass()
		}
		if _, listed := v.MemberOf(m.Name); !m.UpToDate() && m.NodeAbsent && !listed {
			return do(model.DeleteMachine{Machine: m.Name, Why: "it has not joined and differs from the spec: " + strings.Join(m.Outdated, ", ")})
		}
		return wait(v.joiningWait(m, ""))
	},
}

// missingServerIsCreated fills up to the wished number.
var missingServerIsCreated = Rule{
	Name: "missing_server_is_created",
	Why:  "Fewer servers than wished tolerate fewer failures.",
	decide: func(v *view) (model.Decision, bool) {
		if len(v.staying) >= v.ControlPlane.Replicas {
			return pass()
		}
		return v.create(model.ScaleUp)
	},
}

// create makes a server, or says why it can't be made.
func (v *view) create(p model.Purpose) (model.Decision, bool) {
	if w, blocked := v.cannotCreate(); blocked {
		return wait(w)
	}
	return do(model.CreateMachine{Purpose: p, FailureDomain: v.nextFailureDomain()})
}

// cannotCreate gives what keeps a joining server from being created.
func (v *view) cannotCreate() (model.Wait, bool) {
	if len(v.ControlPlane.Problems) > 0 {
		return v.specProblems(), true
	}
	if w, risky := v.riskyHop(); risky {
		return w, true
	}
	if !v.ControlPlane.ExternalDatastore {
		if !v.Etcd.Members.Known {
			return v.unknownMembers("", "no server can join"), true
		}
		if verdict := quorum.Join(v.Etcd.Members.Value); !verdict.OK {
			return v.quorumBlocked("", "no server can join", verdict), true
		}
	}
	if w, blocked := v.missingPrerequisite(); blocked {
		return w, true
	}
	return v.registrationRefused()
}

// missingPrerequisite gives what any server needs and is not there.
func (v *view) missingPrerequisite() (model.Wait, bool) {
	switch {
	case len(v.ControlPlane.Problems) > 0:
		return v.specProblems(), true
	case !v.Cluster.InfrastructureReady:
		return model.Wait{
			Message:  "the infrastructure of the Cluster is not provisioned yet",
			Blockers: []model.Blocker{v.clusterBlocker("it ends when the infrastructure provider reports the Cluster's infrastructure as provisioned")},
		}, true
	case v.Cluster.Endpoint == "":
		return model.Wait{
			Message:  "the Cluster has no control-plane endpoint yet",
			Blockers: []model.Blocker{v.clusterBlocker("set spec.controlPlaneEndpoint, or wait for the infrastructure provider to set it")},
		}, true
	case v.Cluster.Certificates.Known && !v.Cluster.Certificates.Value:
		return model.Wait{
			Message:  v.Cluster.CertificateProblem,
			Blockers: []model.Blocker{v.controlPlaneBlocker("put the Secret in order")},
			Recheck:  later,
		}, true
	case !v.Cluster.Certificates.Known:
		return model.Wait{
			Message:  "the Secrets of the cluster could not be read: " + v.Cluster.Certificates.Reason,
			Blockers: []model.Blocker{v.controlPlaneBlocker("it ends when they can be read")},
			Recheck:  later,
		}, true
	case !v.Cluster.Template.Known:
		return v.templateWait(fmt.Sprintf("infrastructure template %s could not be read: %s", v.Cluster.TemplateName, v.Cluster.Template.Reason)), true
	case !v.Cluster.Template.Value:
		return v.templateWait(fmt.Sprintf("infrastructure template %s does not exist", v.Cluster.TemplateName)), true
	}
	return model.Wait{}, false
}

func (v *view) templateWait(message string) model.Wait {
	return model.Wait{
		Message: message,
		Blockers: []model.Blocker{{
			Kind: "infrastructure template", Name: v.Cluster.TemplateName, Since: v.Cluster.Template.At,
			Unblock: "create it, or correct spec.machineTemplate.spec.infrastructureRef",
		}},
		Recheck: later,
	}
}

// registrationRefused holds joining servers back when the address that they
// would register at refuses connections. A time-out is no proof: the nodes may
// reach what the management cluster does not. Where the data are elsewhere, and
// no server is left, the next one registers with nobody.
func (v *view) registrationRefused() (model.Wait, bool) {
	if !v.Cluster.Registration.Known || v.Cluster.Registration.Value || v.dataAreElsewhere() && len(v.staying) == 0 {
		return model.Wait{}, false
	}
	return model.Wait{
		Message: fmt.Sprintf("no server can join: %s refuses connections, and new servers register there", v.Cluster.RegistrationAddress),
		Blockers: []model.Blocker{{
			Kind: "registration address", Name: v.Cluster.RegistrationAddress, Since: v.Cluster.Registration.At,
			Unblock: "let the load balancer forward port 9345 to the servers, or choose another spec.registrationMethod",
		}},
		Recheck: later,
	}, true
}

// nextFailureDomain spreads servers: the domain with the fewest up-to-date
// Machines, then the fewest at all, then the first by name.
func (v *view) nextFailureDomain() string {
	if len(v.Cluster.FailureDomains) == 0 {
		return ""
	}
	count := func(domain string, only func(*model.Machine) bool) int {
		n := 0
		for _, m := range v.staying {
			if m.FailureDomain == domain && only(m) {
				n++
			}
		}
		return n
	}
	everyone := func(*model.Machine) bool { return true }
	return slices.MinFunc(v.Cluster.FailureDomains, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(count(a, (*model.Machine).UpToDate), count(b, (*model.Machine).UpToDate)),
			cmp.Compare(count(a, everyone), count(b, everyone)),
			cmp.Compare(a, b),
		)
	})
}
