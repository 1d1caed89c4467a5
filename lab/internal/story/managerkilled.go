package story

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/drover-project/drover/lab/internal/beside"
	"github.com/drover-project/drover/lab/internal/timeline"
)

// managerLife is how long a manager runs from its start until it is killed.
const managerLife = 5 * time.Second

var managerKilled = Story{
	Name: "manager-killed",
	Purpose: "Drover is killed every five seconds during an upgrade and begins anew each time: the upgrade ends as if nothing had " +
		"happened, and no member is removed twice.",
	play: playManagerKilled,
}

func playManagerKilled(ctx context.Context, r *Run) error {
	i, err := r.incident(ctx, Spec{Name: "killed", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	if err := i.askForUpgrade(ctx); err != nil {
		return err
	}
	killing := r.keepKilling(ctx)
	complete := i.WaitComplete(ctx, i.Spec.Servers, versionNew, patience)
	kills, err := killing()
	if err := errors.Join(complete, err); err != nil {
		return err
	}
	r.Check("manager", "was killed many times", kills >= 10, "%d times", kills)
	if err := i.end(ctx, versionNew, 9*time.Minute); err != nil {
		return err
	}
	i.checkPlanned()
	return nil
}

// checkPlanned records that each server was replaced once and no more.
func (i *incident) checkPlanned() {
	events := i.r.Log.Events()
	made, left := timeline.ServersCreated(events), len(timeline.Departures(events))
	i.r.Check("control plane", "no Machine beyond the planned ones is replaced", made == 2*i.Spec.Servers && left == i.Spec.Servers,
		"%d servers were ever created, %d left", made, left)
}

// keepKilling kills the manager again and again until the returned function is called, which lets it run and tells how
// often it was killed.
func (r *Run) keepKilling(ctx context.Context) (end func() (kills int, err error)) {
	ctx, stop := context.WithCancel(ctx)
	type outcome struct {
		kills int
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		kills := 0
		for next := time.Now().Add(managerLife); ; kills++ {
			select {
			case <-ctx.Done():
				done <- outcome{kills: kills}
				return
			case <-time.After(time.Until(next)):
			}
			// What has begun is brought to its end, so that a manager runs in the end.
			whole := context.WithoutCancel(ctx)
			if err := r.Lab.StopProvider(whole); err != nil {
				done <- outcome{kills, fmt.Errorf("kill the manager: %w", err)}
				return
			}
			next = time.Now().Add(managerLife)
			if err := r.Lab.StartProvider(whole); err != nil {
				done <- outcome{kills, fmt.Errorf("start the manager again: %w", err)}
				return
			}
		}
	}()
	return func() (int, error) {
		stop()
		o := <-done
		return o.kills, o.err
	}
}

var managerUpgraded = Story{
	Name: "manager-upgraded",
	Purpose: "Drover itself is upgraded in the middle of an upgrade of the cluster: the new build goes on where the old one " +
		"stopped, and replaces nothing beyond it.",
	play: playManagerUpgraded,
}

func playManagerUpgraded(ctx context.Context, r *Run) error {
	next, err := beside.Program("drover-next")
	if err != nil {
		return err
	}
	i, err := r.incident(ctx, Spec{Name: "upgraded", Servers: 3, Version: versionOld, MaxSurge: 1, DrainSeconds: 60}, 0)
	if err != nil {
		return err
	}
	if err := i.askForUpgrade(ctx); err != nil {
		return err
	}
	if err := r.waitEvent(ctx, "a replacement to be created", patience, func(e timeline.Event) bool {
		return e.Kind == timeline.MachineCreated && e.Version == versionNew
	}); err != nil {
		return err
	}
	r.Note("ending the manager and starting another build of it")
	if err := r.Lab.StopProvider(ctx); err != nil {
		return fmt.Errorf("end the manager: %w", err)
	}
	if err := r.Lab.StartOtherProvider(ctx, next); err != nil {
		return fmt.Errorf("start the other build: %w", err)
	}
	if err := i.end(ctx, versionNew, 8*time.Minute); err != nil {
		return err
	}
	i.checkPlanned()
	return nil
}
