package sim

// tally counts voters and those known to work, in the way package quorum
// does; without leaves a server out.
func (v *View) tally(without int) (all, healthy int) {
	for i, s := range v.Servers {
		if i == without || s.server().Member() != Voter {
			continue
		}
		all++
		if s.healthyVoter() {
			healthy++
		}
	}
	return all, healthy
}

// removable is quorum.AfterRemoval.
func (v *View) removable(i int) bool {
	all, healthy := v.tally(-1)
	restAll, restHealthy := v.tally(i)
	return healthy > all/2 && restAll > 0 && restHealthy > restAll/2
}

// losable is quorum.AfterLoss.
func (v *View) losable(i int) bool {
	all, _ := v.tally(-1)
	_, healthy := v.tally(i)
	return healthy > all/2
}

// canLoseOneMore is quorum.AfterJoinAndLoss.
func (v *View) canLoseOneMore() bool {
	_, healthy := v.tally(-1)
	all := 1
	for _, s := range v.Servers {
		if s.server().Member() == Voter && s.answers() != Refuses {
			all++
		}
	}
	return healthy > all/2
}
