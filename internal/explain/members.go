package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/drover-project/drover/internal/model"
	"github.com/drover-project/drover/internal/quorum"
)

// Members is etcd's own list with what is known of each member.
type Members struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Quorum is the verdict in a line.
	Quorum string `json:"quorum"`
	// Has is false when the members can't agree on a write, or when nothing is
	// known of them.
	Has  bool  `json:"hasQuorum"`
	List []Row `json:"members"`
	// Path is the way that the list was read on.
	Path model.Path `json:"path,omitzero"`
	// Unknown says why there is no list.
	Unknown string         `json:"unknown,omitzero"`
	Denied  []model.Denied `json:"denied,omitzero"`
}

// Row is one member.
type Row struct {
	// ID is written as etcdctl writes it.
	ID      string `json:"id"`
	Name    string `json:"name"`
	Machine string `json:"machine,omitzero"`
	Node    string `json:"node,omitzero"`
	// Role is voter or learner, or unstarted for one that has never run.
	Role   string `json:"role"`
	Leader bool   `json:"leader,omitzero"`
	// Health is "healthy" or what is wrong.
	Health   string   `json:"health"`
	Healthy  bool     `json:"healthy"`
	Lag      uint64   `json:"lag"`
	Alarms   []string `json:"alarms,omitzero"`
	PeerURLs []string `json:"peerURLs"`
	// Etcd is the version that the member reports, Path the way it was asked on.
	Etcd string     `json:"etcd,omitzero"`
	Path model.Path `json:"path,omitzero"`
}

// voter is the Role of a member that counts for quorum and has run.
const voter = "voter"

// MembersOf makes the list of a Snapshot.
func MembersOf(s model.Snapshot, denied []model.Denied) Members {
	out := Members{
		Namespace: s.ControlPlane.Namespace, Cluster: s.Cluster.Name, Quorum: quorumLine(s), List: []Row{}, Denied: denied,
		Path: s.Etcd.Path, Has: s.Etcd.Members.Known && quorum.Has(s.Etcd.Members.Value).OK,
	}
	if !s.Etcd.Members.Known {
		out.Unknown = s.Etcd.Members.Reason
		return out
	}
	for _, m := range s.Etcd.Members.Value {
		out.List = append(out.List, row(s, m))
	}
	return out
}

func row(s model.Snapshot, m model.Member) Row {
	r := Row{
		ID: strconv.FormatUint(m.ID, 16), Name: m.Name, Machine: m.Machine, Leader: m.Leader, Lag: m.Lag, Alarms: m.Alarms, PeerURLs: m.PeerURLs,
		Etcd: m.Version, Path: m.Path,
		Role: voter, Healthy: m.Healthy(), Health: "healthy",
	}
	switch {
	case !m.Started():
		r.Role = "unstarted"
	case m.Learner:
		r.Role = "learner"
	}
	if trouble, _ := m.Trouble(); trouble != "" {
		r.Health = strings.TrimSuffix(trouble, ": ")
	}
	if machine, ok := s.MachineByName(m.Machine); ok {
		r.Node = machine.NodeName
	}
	return r
}

// owner names whom the member belongs to.
func (r Row) owner() string {
	if r.Machine == "" {
		return "no Machine"
	}
	return "Machine " + r.Machine
}

// troubled are the members that are not known to work.
func troubled(s model.Snapshot) []Row {
	var out []Row
	for _, m := range s.Etcd.Members.Value {
		if !m.Healthy() {
			out = append(out, row(s, m))
		}
	}
	return out
}

// quorumLine says how many voters there are, how many work and how many may
// fail.
func quorumLine(s model.Snapshot) string {
	switch {
	case s.ControlPlane.HiddenEtcd:
		return "its members can't be asked: nobody has etcd's certificate authorities yet"
	case s.ControlPlane.ExternalDatastore:
		return "the control plane keeps no etcd members of its own"
	case !s.Etcd.Members.Known:
		return "unknown: " + s.Etcd.Members.Reason
	}
	members := s.Etcd.Members.Value
	voters, healthy := len(quorum.Voters(members)), len(quorum.HealthyVoters(members))
	line := fmt.Sprintf("%s, %d healthy", plural(voters, "voter"), healthy)
	if learners := len(members) - voters; learners > 0 {
		line += ", " + plural(learners, "learner")
	}
	unasked := 0
	for _, m := range quorum.Voters(members) {
		if _, sure := m.Trouble(); !sure {
			unasked++
		}
	}
	if unasked > 0 {
		line += fmt.Sprintf(", %d could not be asked", unasked)
	}
	switch size := quorum.Size(voters); {
	case healthy+unasked < size:
		return line + fmt.Sprintf(", NO QUORUM: %d are needed", size)
	case healthy < size:
		return line + fmt.Sprintf(", quorum not confirmed: %d are needed", size)
	}
	return line + fmt.Sprintf(", %d may fail", healthy-quorum.Size(voters))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Text writes the list as a table, with the quorum in its last line.
func (m Members) Text() string {
	var b strings.Builder
	if m.Unknown == "" {
		rows := [][]string{{"ID", "NAME", "MACHINE", "NODE", "ROLE", "LEADER", "LAG", "ALARMS", "PEER URLS", "HEALTH"}}
		for _, r := range m.List {
			leader := ""
			if r.Leader {
				leader = "leader"
			}
			rows = append(rows, []string{
				r.ID, dash(r.Name), dash(r.Machine), dash(r.Node), r.Role, dash(leader), strconv.FormatUint(r.Lag, 10),
				dash(strings.Join(r.Alarms, ",")), dash(strings.Join(r.PeerURLs, ",")), r.Health,
			})
		}
		table := columns(rows)
		b.WriteString(strings.Join(table, "\n") + "\n\n")
	}
	fmt.Fprintf(&b, "etcd of %s/%s: %s\n", m.Namespace, m.Cluster, m.Quorum)
	WriteDenied(&b, m.Denied)
	return b.String()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// columns pads all but the last column to the width of its widest cell.
func columns(rows [][]string) []string {
	width := map[int]int{}
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	out := make([]string, 0, len(rows))
	for _, r := range rows {
		var b strings.Builder
		for i, cell := range r {
			if i == len(r)-1 {
				b.WriteString(cell)
				break
			}
			b.WriteString(cell + strings.Repeat(" ", width[i]-len([]rune(cell))+2))
		}
		out = append(out, b.String())
	}
	return out
}

// Trouble tells whether a member is joining, and whether one that has joined is
// not known to work.
func (m Members) Trouble() (joining, sick bool) {
	for _, r := range m.List {
		switch {
		case r.Role != voter:
			joining = true
		case !r.Healthy:
			sick = true
		}
	}
	return joining, sick
}
