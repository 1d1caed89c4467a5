package explain

import (
	"fmt"
	"maps"
	"time"

	"github.com/drover-project/drover/internal/model"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// whole is a control plane of n whole servers that are as wished.
func whole(n int) *Input {
	s := model.Snapshot{
		Now: now,
		ControlPlane: model.ControlPlane{
			Namespace: "shop", Name: "prod-cp", Replicas: n, MaxSurge: 1, Version: "v1.36.3+rke2r1", Initialized: true,
			ExcludeFromLoadBalancers: true, LoadBalancerSettle: 5 * time.Second,
		},
		Cluster: model.Cluster{
			Name: "prod", InfrastructureReady: true, Endpoint: "192.0.2.1:6443", Template: model.Known(true, now), TemplateName: "MetalMachineTemplate/prod",
			Certificates: model.Known(true, now), Registration: model.Known(true, now), RegistrationAddress: "192.0.2.1:9345",
		},
	}
	var members []model.Member
	for i := range n {
		m, member := server(fmt.Sprintf("cp-%c", 'a'+i), i)
		s.Machines = append(s.Machines, m)
		members = append(members, member)
	}
	s.Etcd.Members = model.Known(members, now)
	return &Input{Snapshot: s}
}

func server(name string, i int) (model.Machine, model.Member) {
	components := map[string]model.Fact[bool]{}
	for _, c := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"} {
		components[c] = model.Known(true, now)
	}
	m := model.Machine{
		Name: name, UID: name, Created: ago(time.Duration(240-i) * time.Hour), Version: "v1.36.3+rke2r1", PreDrainHook: true, PreTerminateHook: true,
		InfrastructureReady: true, InfrastructureGone: model.Known(false, now), Addresses: []string{fmt.Sprintf("192.0.2.%d", 10+i)},
		NodeName: "node-" + name, Components: components,
		Node: model.Known(model.Node{Exists: true, Ready: model.Yes, ReadySince: ago(200 * time.Hour), MemberAnnotated: true}, now),
	}
	return m, model.Member{
		ID: uint64(0xa0 + i), Name: "node-" + name + "-0123abcd", Machine: name, Leader: i == 0, Answers: model.Known(true, now),
		PeerURLs: []string{fmt.Sprintf("https://192.0.2.%d:2380", 10+i)}, NodeReady: model.Yes,
	}
}

func (in *Input) machine(name string) *model.Machine {
	for i := range in.Snapshot.Machines {
		if in.Snapshot.Machines[i].Name == name {
			return &in.Snapshot.Machines[i]
		}
	}
	panic("no Machine " + name)
}

func (in *Input) member(name string) *model.Member {
	for i := range in.Snapshot.Etcd.Members.Value {
		if m := &in.Snapshot.Etcd.Members.Value[i]; m.Machine == name {
			return m
		}
	}
	panic("no member of " + name)
}

// add adds one more whole server.
func (in *Input) add(name string) *model.Machine {
	m, member := server(name, len(in.Snapshot.Machines))
	in.Snapshot.Machines = append(in.Snapshot.Machines, m)
	in.Snapshot.Etcd.Members.Value = append(in.Snapshot.Etcd.Members.Value, member)
	return in.machine(name)
}

// outdate makes Machines differ from the spec.
func (in *Input) outdate(names ...string) {
	for _, name := range names {
		m := in.machine(name)
		m.Version, m.Outdated = "v1.35.7+rke2r1", []string{"version v1.35.7+rke2r1, wanted v1.36.3+rke2r1"}
	}
}

// deleted lets core be in a phase of the deletion of a Machine since then.
func (in *Input) deleted(name string, phase model.Phase, since time.Time, detail string) *model.Machine {
	m := in.machine(name)
	m.Deleting, m.DeletingSince, m.Phase, m.PhaseSince, m.Detail = true, since.Add(-time.Minute), phase, since, detail
	if phase != model.PhaseWaitingForPreDrain {
		m.PreDrainHook = false
	}
	if phase.PastHooks() {
		m.PreTerminateHook = false
	}
	return m
}

// rolling is a rollout with the replacement cp-d of cp-a joined.
func rolling() *Input {
	in := whole(3)
	in.outdate("cp-a", "cp-b", "cp-c")
	in.add("cp-d").Created = ago(9 * time.Minute)
	return in
}

// unlist takes the member of a Machine off the list.
func (in *Input) unlist(name string) {
	var rest []model.Member
	for _, m := range in.Snapshot.Etcd.Members.Value {
		if m.Machine != name {
			rest = append(rest, m)
		}
	}
	in.Snapshot.Etcd.Members.Value = rest
}

// silent makes the member of a Machine known not to answer.
func (in *Input) silent(name string) {
	m := in.member(name)
	m.Answers, m.Leader = model.Known(false, now), false
	m.Answers.Reason = "connection refused"
}

// situations are what the golden texts are made of.
var situations = together(usualSituations, oddSituations)

func together(parts ...map[string]func() *Input) map[string]func() *Input {
	out := map[string]func() *Input{}
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out
}

var usualSituations = map[string]func() *Input{
	"settled": func() *Input { return whole(3) },
	"draining, held by a PodDisruptionBudget": func() *Input {
		in := rolling()
		in.deleted("cp-a", model.PhaseDraining, ago(12*time.Minute), "Drain not completed yet (started at 2026-01-02T02:52:05Z):\n* Pod shop/cart-0: cannot evict pod as it would violate the pod's disruption budget")
		in.Obstacles = []model.Obstacle{
			{Machine: "cp-a", Kind: "Pod", Name: "shop/cart-0", Why: "PodDisruptionBudget cart allows 0 disruptions: 1 pods are healthy, 1 have to be", Stuck: true, Since: ago(11 * time.Minute)},
			{Machine: "cp-a", Kind: "Pod", Name: "shop/db-0", Why: "is deleted and held by finalizer example.com/backup", Stuck: true, Since: ago(5 * time.Minute)},
			{Machine: "cp-a", Kind: "Pod", Name: "shop/web-1", Why: "ends within its grace period of 10m0s", Since: ago(time.Minute)},
		}
		return in
	},
	"volumes left": func() *Input {
		in := rolling()
		in.deleted("cp-a", model.PhaseWaitingForVolumes, ago(40*time.Second), "Waiting for Node volumes to be detached")
		in.Obstacles = []model.Obstacle{{Machine: "cp-a", Kind: "VolumeAttachment", Name: "csi-1", Why: "PersistentVolume pv-1 is still attached by csi.example.com, for claim shop/data-db-0", Since: ago(3 * time.Hour)}}
		return in
	},
	"foreign hook": func() *Input {
		in := rolling()
		in.deleted("cp-a", model.PhaseWaitingForPreTerm, ago(3*time.Minute), "").ForeignPreTerminate = []model.Hook{{Name: "backup", Owner: "velero"}}
		return in
	},
	"replacement is joining": func() *Input {
		in := rolling()
		in.member("cp-d").Learner = true
		d := in.machine("cp-d")
		d.NodeName, d.Node = "", model.Unknown[model.Node]("no Node is known for the Machine yet", now)
		d.Created, d.NodeAbsent = ago(3*time.Minute), true
		return in
	},
	"replacement never joins": func() *Input {
		in := rolling()
		in.unlist("cp-d")
		d := in.machine("cp-d")
		d.NodeName, d.Node, d.Created = "", model.Unknown[model.Node]("no Node is known for the Machine yet", now), ago(2*time.Hour)
		return in
	},
	"quorum missing": func() *Input {
		in := whole(3)
		in.silent("cp-b")
		in.silent("cp-c")
		in.deleted("cp-a", model.PhaseWaitingForPreTerm, ago(4*time.Minute), "")
		return in
	},
	"RKE2 is asked for the removal": func() *Input {
		in := rolling()
		m := in.deleted("cp-a", model.PhaseWaitingForPreTerm, ago(8*time.Second), "")
		m.Node.Value.RemovalAsked, m.Node.Value.RemovalAskedAt = true, ago(3*time.Second)
		in.member("cp-a").Leader, in.member("cp-d").Leader = false, true
		return in
	},
	"leader moves": func() *Input {
		in := rolling()
		in.deleted("cp-a", model.PhaseWaitingForPreTerm, ago(time.Second), "")
		return in
	},
	"host is not destroyed": func() *Input {
		in := rolling()
		in.deleted("cp-a", model.PhaseDeletingInfra, ago(25*time.Minute), "")
		in.unlist("cp-a")
		in.member("cp-d").Leader = true
		in.Obstacles = []model.Obstacle{
			{Machine: "cp-a", Kind: "MetalMachine", Name: "shop/cp-a", Why: "finalizer metal.example.com/host", Since: ago(25 * time.Minute), Stuck: true},
			{Machine: "cp-a", Kind: "MetalMachine", Name: "shop/cp-a", Why: "condition Ready is False: PowerOffFailed: BMC does not answer", Since: ago(24 * time.Minute), Stuck: true},
		}
		return in
	},
	"orphan member": func() *Input {
		in := whole(3)
		in.Snapshot.Etcd.Members.Value = append(in.Snapshot.Etcd.Members.Value, model.Member{
			ID: 0xdead, Name: "node-old-0123abcd", Answers: model.Unknown[bool]("it is not known on which node the member runs", now),
			PeerURLs: []string{"https://192.0.2.99:2380"}, NodeReady: model.No, UnmatchedSince: ago(10 * time.Minute),
		})
		return in
	},
	"paused": func() *Input {
		in := rolling()
		in.Paused = []string{"Cluster shop/prod has spec.paused: true (since 2026-01-02 02:04:05 UTC)"}
		return in
	},
	"the whole is deleted, with workers": func() *Input {
		in := whole(3)
		in.Snapshot.ControlPlane.Deleting, in.Snapshot.Cluster.Workers = true, 4
		return in
	},
	"template missing": func() *Input {
		in := whole(3)
		in.Snapshot.ControlPlane.Replicas = 5
		in.Snapshot.Cluster.Template = model.Known(false, now)
		return in
	},
	"two deleted by hand": func() *Input {
		in := whole(3)
		in.deleted("cp-a", model.PhaseWaitingForPreDrain, ago(30*time.Second), "")
		in.deleted("cp-b", model.PhaseWaitingForPreDrain, ago(20*time.Second), "")
		return in
	},
	"core has not begun": func() *Input {
		in := rolling()
		m := in.deleted("cp-a", model.PhaseWaitingForPreDrain, ago(time.Second), "")
		m.Phase = model.PhaseNotDeleting
		return in
	},
	"server broken": func() *Input {
		in := whole(3)
		in.outdate("cp-a", "cp-b", "cp-c")
		in.silent("cp-b")
		return in
	},
	"member far behind": func() *Input {
		in := whole(3)
		in.outdate("cp-a", "cp-b", "cp-c")
		in.member("cp-c").Lag = 120345
		return in
	},
	"settled, with a broken server": func() *Input {
		in := whole(3)
		in.member("cp-b").Answers = model.Unknown[bool]("etcd on node node-cp-b: status: no answer in time", now)
		m := in.machine("cp-b")
		m.Node.Value.Ready, m.Node.Value.ReadySince = model.Unclear, ago(90*time.Second)
		m.Components["kube-scheduler"] = model.Unknown[bool]("the kubelet of Node node-cp-b does not report", now)
		return in
	},
	"joined and starting": func() *Input {
		in := rolling()
		c := model.Known(false, now)
		c.Reason = "pod kube-scheduler-node-cp-d is starting"
		in.machine("cp-d").Components["kube-scheduler"] = c
		return in
	},
	"first server": func() *Input {
		in := whole(1)
		in.Snapshot.ControlPlane.Initialized, in.Snapshot.ControlPlane.Replicas = false, 3
		in.Snapshot.Etcd.Members = model.Unknown[[]model.Member]("no connection to the workload cluster", now)
		m := in.machine("cp-a")
		m.NodeName, m.Created, m.Node = "", ago(2*time.Minute), model.Unknown[model.Node]("no connection to the workload cluster", now)
		return in
	},
	"data lost": func() *Input {
		in := whole(0)
		in.Snapshot.ControlPlane.Replicas = 3
		return in
	},
	"seen in part": func() *Input {
		in := rolling()
		in.Snapshot.Etcd.Members = model.Unknown[[]model.Member](`secrets "prod-etcd" is forbidden`, now)
		in.Blind = "etcd's member list can't be read"
		in.Denied = []model.Denied{{Cluster: "management", Verb: "get", Resource: "secrets", Namespace: "shop", Names: []string{"prod-etcd", "prod-kubeconfig"}}}
		in.Reported = Reported{Waits: []model.Wait{{
			Rule: "one_server_joins_at_a_time", Message: "Machine cp-d is joining and waits for its etcd member to be promoted to a voter",
			Blockers: []model.Blocker{{Kind: "Machine", Name: "cp-d", Unblock: "it ends when the Machine's etcd member is a voter"}},
		}}}
		return in
	},
}
