package sim

import "slices"

func (a actor) releasePreTerminate(w *World, v *View, on int) outcome {
	s := &w.Servers[on]
	if !a.drained(w, *s) || w.unseen() && !a.sameMachines(w, v) {
		return outcome{}
	}
	neverServer := !v.Initialized && !s.has(NodeRef)
	live := look(w)
	if a.without&MemberGone == 0 && !neverServer && !live.memberIsGone(on) {
		return outcome{}
	}
	if a.without&MemberGone == 0 && !w.unseen() && mayJoin(live.Servers[on]) && a.otherRemoval(w, on) {
		return outcome{}
	}
	if a.without&OneLetGo == 0 && !w.unseen() && mayJoin(live.Servers[on]) && live.anotherIsLetGo(on) {
		return outcome{}
	}
	out := outcome{done: true, breach: w.lastServes(on)}
	if s.has(ForeignHook) {
		out.breach = "I13: somebody else's hook is passed over"
	}
	// A member that nobody could recognise, of a host that is gone already, is
	// removed as an orphan.
	if s.Member() == Voter && w.Initialized && !w.unseen() && (s.Host() != Gone || !s.unclaimed()) {
		out.breach = "I11: a host is released while etcd lists its member"
	}
	s.clear(PreDrainHook | PreTerminateHook)
	return out
}

// memberIsGone is the check that etcd lists no member of the server, that none
// could be its own, and that the others could lose it if it joined yet.
func (v *View) memberIsGone(on int) bool {
	s := v.Servers[on].server()
	if v.External {
		return true
	}
	if v.EtcdUnknown || s.listed() && !s.unclaimed() {
		return false
	}
	if !mayJoin(v.Servers[on]) {
		return true
	}
	return v.canLoseOneMore() && (s.has(Provisioned) || !v.anyStrange())
}

// mayJoin tells whether the host may be about to join.
func mayJoin(s Sight) bool {
	server := s.server()
	return s&hostIsGone == 0 && server.Machine() != NoMachine && server&(NodeRef|Late) == 0 && (!server.listed() || server.unclaimed())
}

// anyStrange tells whether a member is listed of which no Machine is known.
func (v *View) anyStrange() bool {
	return slices.ContainsFunc(v.Servers[:], func(s Sight) bool {
		server := s.server()
		return server.listed() && !server.claimed()
	})
}

// anotherIsLetGo tells whether another server was let go and may join all the
// same. That its host is gone is not asked for.
func (v *View) anotherIsLetGo(on int) bool {
	for i, s := range v.Servers {
		if i != on && s.server().doomed() && mayJoin(s&^hostIsGone) {
			return true
		}
	}
	return false
}
