package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/drover-project/drover/internal/model"
)

// forecaster plays one Forecast: a World whose servers have the names, ages,
// failure domains and members of a Snapshot.
type forecaster struct {
	rules
	actor
	decide Decider
	real   model.Snapshot
	world  World
	// external: the datastore is not the servers' own. Members then stand for
	// servers that work, and are shown to nobody.
	external bool

	names [MaxServers]string
	ids   [MaxServers]uint64
	// domains are the failure domains of new servers, deleted the order in which
	// Machines were deleted, both by name.
	domains map[string]string
	deleted []string
	made    int
	out     Forecast
}

func newForecaster(s model.Snapshot, decide Decider) (*forecaster, error) {
	f := &forecaster{
		rules: rules{noHealthCheck: true, upkeep: true}, decide: decide, real: s, domains: map[string]string{},
		external: s.ControlPlane.ExternalDatastore, out: Forecast{Events: []Event{}},
	}
	seen := s
	if f.external {
		seen = withMembers(s)
	}
	if seen.ControlPlane.Initialized && !seen.Etcd.Members.Known && len(seen.Machines) > 0 && !seen.ControlPlane.Deleting && !seen.Cluster.Deleting {
		return nil, fmt.Errorf("%w: etcd's member list is unknown (%s)", ErrUnseen, seen.Etcd.Members.Reason)
	}
	sighting, err := Abstract(&seen, nil)
	if err != nil {
		return nil, err
	}
	f.names, f.ids = sighting.Names, sighting.IDs
	v := sighting.View
	f.world = World{Replicas: v.Replicas, Surge: v.Surge, Initialized: v.Initialized, WholeDeleted: v.WholeDeleted}
	for i, sight := range v.Servers {
		if sight != 0 {
			f.world.Servers[i] = sight.likely()
		}
	}
	f.world.settle()
	f.forget()
	return f, nil
}

// withMembers gives every server of an external datastore a member.
func withMembers(s model.Snapshot) model.Snapshot {
	s.ControlPlane.ExternalDatastore = false
	var members []model.Member
	for i, m := range s.Machines {
		if m.NodeName != "" {
			members = append(members, model.Member{
				ID: uint64(i + 1), Name: m.NodeName, Machine: m.Name, Leader: len(members) == 0, Answers: model.Known(true, s.Now), NodeReady: model.Yes,
			})
		}
	}
	s.Etcd.Members = model.Known(members, s.Now)
	return s
}

// likely is the server that most likely stands behind what is seen: one that
// works, unless something does not, and then one that stays as it is.
func (s Sight) likely() Server {
	out := s.guesses()[0]
	if out.Host() != Up {
		return out
	}
	silent := out.Member() == Voter && s.answers() == Refuses
	switch quiet := out.Node() == NotReady || out.Node() == LongNotReady; {
	case out.Asked() != NotAsked && (silent || quiet):
		out.set(TornDown)
	case quiet && s.answers() == Answers:
		out.set(KubeletDead)
	case quiet:
		out.setHost(Dead)
	case silent:
		out.set(Corrupt)
	}
	return out
}

// name names the server that was just made.
func (f *forecaster) name(domain string) string {
	f.made++
	name := fmt.Sprintf("new-%d", f.made)
	for i, s := range f.world.Servers {
		if s != 0 && f.names[i] == "" {
			f.names[i], f.ids[i] = name, slices.Max(f.ids[:])+1
		}
	}
	f.domains[name] = domain
	return name
}

// forget drops the names of servers of which nothing is left, and notes which
// Machines were deleted when.
func (f *forecaster) forget() {
	for i, s := range f.world.Servers {
		if s == 0 {
			f.names[i], f.ids[i] = "", 0
			continue
		}
		if f.ids[i] == 0 {
			f.ids[i] = slices.Max(f.ids[:]) + 1 // for when it becomes a member
		}
		if f.external && s.Machine() == NoMachine {
			f.world.Servers[i], f.names[i], f.ids[i] = 0, "", 0
			continue
		}
		if s.Machine() == Deleting && !slices.Contains(f.deleted, f.names[i]) {
			f.deleted = append(f.deleted, f.names[i])
		}
	}
}

// look is what the planner sees of the World: the Snapshot that the forecast
// began with, with the servers as they are now.
func (f *forecaster) look() (View, model.Snapshot) {
	v := look(&f.world)
	s := f.real
	s.Now, s.ControlPlane.Initialized, s.Machines = epoch, v.Initialized, nil
	names := f.ranks()
	var members []model.Member
	for _, i := range inOrder(&names.Rank) {
		server := v.Servers[i].server()
		if server.Machine() != NoMachine {
			m := v.machine(i, &names)
			f.dress(&m, server)
			s.Machines = append(s.Machines, m)
		}
		if server.listed() {
			m := v.member(i, &names)
			m.ID = f.ids[i]
			if was := slices.IndexFunc(f.real.Etcd.Members.Value, func(o model.Member) bool { return o.ID == m.ID && o.Name != "" }); was >= 0 {
				m.Name, m.PeerURLs = f.real.Etcd.Members.Value[was].Name, f.real.Etcd.Members.Value[was].PeerURLs
			}
			members = append(members, m)
		}
	}
	slices.SortFunc(s.Machines, func(a, b model.Machine) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(members, func(a, b model.Member) int { return cmp.Compare(a.ID, b.ID) })
	s.Etcd.Members = model.Known(members, epoch)
	if v.EtcdUnknown || f.external {
		s.Etcd.Members = model.Unknown[[]model.Member]("no etcd voter gives the member list", epoch)
	}
	return v, s
}

// removes tells whether RKE2's controller for removals runs on the server that a
// step is about, as far as the Snapshot tells.
func (f *forecaster) removes(st Step) bool {
	if st.Server < 0 {
		return false
	}
	m, ok := f.real.MachineByName(f.names[st.Server])
	return ok && m.Node.Known && m.Node.Value.RemovesMembers
}

// ranks are the names, with the places in the order of age and of IDs.
func (f *forecaster) ranks() Names {
	n := Names{Machine: f.names}
	byAge, byID := make([]int, MaxServers), make([]int, MaxServers)
	for i := range MaxServers {
		byAge[i], byID[i] = i, i
	}
	slices.SortStableFunc(byAge, func(a, b int) int { return f.born(f.names[a]).Compare(f.born(f.names[b])) })
	slices.SortStableFunc(byID, func(a, b int) int { return cmp.Compare(f.ids[a], f.ids[b]) })
	for rank := range MaxServers {
		n.Rank[byAge[rank]], n.ID[byID[rank]] = rank, rank
	}
	return n
}

// born is when a Machine was created, on the clock of the model. New ones were
// made one after the other just now.
func (f *forecaster) born(name string) time.Time {
	if m, ok := f.real.MachineByName(name); ok {
		return f.clock(m.Created)
	}
	number := 0
	_, _ = fmt.Sscanf(name, "new-%d", &number)
	return epoch.Add(-momentAgo + time.Duration(number)*time.Millisecond)
}

// clock gives a time of the Snapshot on the clock of the model.
func (f *forecaster) clock(t time.Time) time.Time { return t.Add(epoch.Sub(f.real.Now)) }

// dress gives a Machine of the model what only the Snapshot knows of it.
func (f *forecaster) dress(m *model.Machine, s Server) {
	if s.has(NodeRef) {
		m.Created = f.born(m.Name)
	}
	if m.Deleting {
		m.DeletingSince = epoch.Add(-momentAgo + time.Duration(slices.Index(f.deleted, m.Name))*time.Millisecond)
		m.PhaseSince = m.DeletingSince
	}
	m.Version, m.FailureDomain = f.real.ControlPlane.Version, f.domains[m.Name]
	was, ok := f.real.MachineByName(m.Name)
	if !ok {
		return
	}
	m.Version, m.FailureDomain, m.DeletionWished = was.Version, was.FailureDomain, was.DeletionWished
	if s.has(Outdated) {
		m.Outdated = was.Outdated
	}
	if m.Unhealthy != nil && was.Unhealthy != nil {
		m.Unhealthy = was.Unhealthy
	}
	if r := was.RemediationFor; r != nil {
		m.RemediationFor = &model.Remediation{Machine: r.Machine, At: f.clock(r.At), Retry: r.Retry}
	}
	if s.has(ForeignHook) {
		m.ForeignPreTerminate = was.ForeignPreTerminate
	}
	if s.has(NodeRef) && was.NodeName != "" {
		m.NodeName = was.NodeName
	}
	m.Components = nil
	for name, c := range was.Components {
		if c.Known && !c.Value && m.Alive() {
			if m.Components == nil {
				m.Components = map[string]model.Fact[bool]{}
			}
			m.Components[name] = c
		}
	}
}
