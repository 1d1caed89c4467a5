package explain

import "github.com/drover-project/drover/internal/plan"

// Ending says who ends a wait under a rule, if its blockers and obstacles do
// not tell otherwise.
type Ending int

// The endings.
const (
	// ByItself: Drover, core, the infrastructure or RKE2 is at work on it.
	ByItself Ending = iota
	// BySomebody: nothing goes on until somebody else does something.
	BySomebody
)

// Entry is what is told about one rule of the planner.
type Entry struct {
	// Step is the step of a leaving server that the rule belongs to, 0 for none.
	Step Step
	// Ends says who ends a wait under it.
	Ends Ending
	// Next is what comes after it.
	Next string
	// Options are what an operator can do to speed it up or to end it.
	Options []string
}

// Of is the entry of a rule, empty for an unknown one.
func Of(rule string) Entry { return table[rule] }

// hiddenEtcd is what helps while etcd can't be asked.
var hiddenEtcd = []string{
	"let the management cluster reach port 9345 of the servers: Drover asks them for etcd's authorities every five minutes",
	"or put the authorities into the Secrets <cluster>-etcd and <cluster>-peer-etcd yourself (docs/operate/external-datastore.md)",
}

// table has an entry for each rule, by name.
var table = map[string]Entry{
	"whole_control_plane_is_deleted": {
		Next: "all Machines are deleted at once, without a drain and without care for members; then the control plane goes",
		Options: []string{
			"delete the workers that are left, or the whole Cluster, which does that in order",
			"look at the finalizers of Machines and infrastructure machines that stay",
		},
	},
	"hooks_are_kept": {
		Next:    "the rollout or removal goes on once the hooks are back",
		Options: []string{"find out who takes the hook annotations off Machines: kubectl get machine NAME -o yaml --show-managed-fields"},
	},
	"dead_member_goes_first": {
		Step:    MemberRemoval,
		Next:    "with the dead member off the list a replacement can join",
		Options: []string{"nothing has to be done"},
	},
	"orphan_member_is_removed": {
		Next:    "with the leftover member off the list servers can join and leave again",
		Options: []string{"nothing has to be done; a member that answers, leads or has a Ready Node is left alone"},
	},
	"broken_outdated_server_goes_first": {
		Next:    "its dead member is removed, then a replacement joins, and the rollout goes on with the other servers",
		Options: []string{"nothing has to be done"},
	},
	"broken_surplus_goes_first": {
		Next:    "its dead member is removed, and the others go on",
		Options: []string{"nothing has to be done"},
	},
	plan.UnhealthyServerIsReplaced: {
		Next: "its Machine is deleted; a replacement joins, before the server leaves where its member still works, else after its dead member is off the list",
		Options: []string{
			"repair the server: the health check takes its mark back when it is healthy again",
			"delete the Machine yourself: limits of remediation do not hold for that, those of etcd's quorum do",
			"look at spec.remediation of the control plane and at the MachineHealthCheck",
		},
	},
	"hidden_etcd_keeps_quorum": {
		Step:    Quorum,
		Ends:    BySomebody,
		Next:    "with etcd's authorities known its members are asked, and the server leaves like that of any cluster",
		Options: hiddenEtcd,
	},
	"hidden_etcd_is_opened_first": {
		Ends:    BySomebody,
		Next:    "with etcd's authorities known servers are replaced like those of any cluster",
		Options: hiddenEtcd,
	},
	"etcd_hop_is_bridged": {
		Ends:    BySomebody,
		Next:    "the rollout begins when all members run etcd 3.5.26 or later",
		Options: []string{"set spec.version to the release named above and let that rollout end; then set the version you want again"},
	},
	"rollout_is_held": {
		Next: "servers that are not up to date are replaced one after the other; status.rollout of the control plane lists them",
		Options: []string{
			"take the annotation rke2.controlplane.cluster.x-k8s.io/hold-rollout off the control plane",
			"a rollout that the Cluster's topology holds ends when its version reaches the control plane",
		},
	},
	"released_server_disappears": {
		Step: Destruction,
		Next: "the Machine and its Node are gone, and the next server's turn comes",
		Options: []string{
			"look at the infrastructure machine: its conditions say what the provider waits for",
			"look at the log of the infrastructure provider; a finalizer is its promise to clean up",
		},
	},
	"replacement_before_drain": {
		Step: ReplacementVotes,
		Next: "load balancers let go of the server, then it is drained",
		Options: []string{
			"look at the joining Machine: its bootstrap log (journalctl -u rke2-server, /var/log/cloud-init-output.log) and port 9345 of the registration address",
			"bring back a member that does not work, or delete its Machine: a broken server may go first",
		},
	},
	"load_balancers_let_go_first": {
		Step:    LoadBalancers,
		Next:    "the pre-drain hook is released and core drains the Node",
		Options: []string{`nothing has to be done; the annotation rke2.controlplane.cluster.x-k8s.io/load-balancer-exclusion: "false" on the control plane leaves this step out`},
	},
	"drain_comes_before_member": {
		Step: Drain,
		Next: "core waits for volumes and the hooks of others; then the leader moves and the member is removed",
		Options: []string{
			"free the pods that are left: raise the PodDisruptionBudget or the number of replicas, remove a stuck finalizer, or delete the pod",
			"bound the drain with spec.machineTemplate.spec.deletion.nodeDrainTimeoutSeconds (nodeVolumeDetachTimeoutSeconds for volumes)",
		},
	},
	"foreign_hooks_come_first": {
		Step: Drain, Ends: BySomebody,
		Next: "the leader moves and the member is removed",
		Options: []string{
			"ask the owner of the hook; the value of the annotation names it",
			"if the owner is gone for good: kubectl annotate machine NAME pre-terminate.delete.hook.machine.cluster.x-k8s.io/HOOK-",
		},
	},
	"last_voter_stays": {
		Step:    Quorum,
		Next:    "a replacement joins and takes over the data, then the server leaves",
		Options: []string{"look at what keeps the replacement from joining; to give up the cluster and its data, delete the Cluster"},
	},
	"quorum_survives_removal": {
		Step: Quorum,
		Next: "once the others keep quorum without it, the leader moves and the member is removed",
		Options: []string{
			"bring back the servers whose members do not work, or delete their Machines",
			"without a quorum nothing can be removed: restore an etcd snapshot",
		},
	},
	"leader_moves_first": {
		Step:    Leadership,
		Next:    "the member is removed",
		Options: []string{"look at the etcd logs of the other servers when no leader is elected within a minute: kubectl -n kube-system logs etcd-NODE"},
	},
	"member_is_removed_by_the_safe_path": {
		Step:    MemberRemoval,
		Next:    "etcd's list confirms it and the host is released; without an answer of RKE2 the member is removed through another voter",
		Options: []string{"nothing has to be done"},
	},
	"strange_member_is_settled_first": {
		Step: MemberRemoval,
		Next: "the member turns out to be the Machine's and is removed like every other, or it is removed as a leftover; then the host is released",
		Options: []string{
			"look at why the infrastructure machine reports no addresses",
			"delete the infrastructure machine if its host is gone for good",
		},
	},
	"joiner_is_let_in_first": {
		Step:    MemberRemoval,
		Next:    "the server joins and is then removed like every other, or is released when it is too old to join",
		Options: []string{"let another server join, or wait", "delete the infrastructure machine if its host is not coming"},
	},
	"etcd_confirms_removal": {
		Step:    Release,
		Next:    "core deletes the infrastructure machine",
		Options: []string{"restore the way to etcd: a voter must answer through the workload API"},
	},
	"spec_can_be_followed": {
		Ends:    BySomebody,
		Next:    "what the spec asks for is begun once it can be followed",
		Options: []string{"correct the spec of the control plane"},
	},
	"first_server_starts_alone": {
		Next: "the other servers join one after the other",
		Options: []string{
			"look at the first Machine: its bootstrap log (journalctl -u rke2-server, /var/log/cloud-init-output.log)",
			"a Machine that never comes up can be deleted; another first server is made",
		},
	},
	"data_is_not_started_over": {
		Ends:    BySomebody,
		Next:    "nothing: the data is gone with the last server",
		Options: []string{"restore an etcd snapshot into a new cluster, or delete the Cluster"},
	},
	"one_server_joins_at_a_time": {
		Next: "once it votes, the next server is made, or the server that it replaces leaves",
		Options: []string{
			"look at the joining Machine: its bootstrap log (journalctl -u rke2-server, /var/log/cloud-init-output.log) and port 9345 of the registration address",
			"delete it if it never joins; another one is made",
		},
	},
	"control_plane_is_healthy": {
		Ends:    BySomebody,
		Next:    "the change goes on once the server is whole",
		Options: []string{"bring the server back, or delete its Machine: it is replaced"},
	},
	"missing_server_is_created": {
		Next:    "the new server joins etcd as a learner and becomes a voter",
		Options: []string{"what is named as held up keeps every new server from being made"},
	},
	"surplus_server_is_deleted": {
		Next:    "load balancers let go of the server, then it is drained and leaves",
		Options: []string{"to choose another server: kubectl annotate machine NAME cluster.x-k8s.io/delete-machine=yes"},
	},
	"outdated_server_is_replaced": {
		Next:    "the replacement joins and votes, then the outdated server leaves",
		Options: []string{"what is named as held up keeps the replacement from being made"},
	},
	plan.OneServerLeavesAtATime: {
		Step:    ItsTurn,
		Next:    "its turn comes when the Machine that leaves is gone",
		Options: []string{"speed up the one that leaves"},
	},
	plan.Settled: {
		Next:    "nothing",
		Options: []string{"kubectl drover plan CLUSTER --version VERSION shows what a change would do"},
	},
}
