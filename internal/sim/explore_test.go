package sim

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	env := func(k string, d int) int {
		if v := os.Getenv(k); v != "" {
			n, _ := strconv.Atoi(v)
			return n
		}
		return d
	}
	o := Options{Servers: env("N", 3), Surge: env("SURGE", 1), Stale: env("STALE", 0) == 1, Restarts: env("RESTART", 0) == 1, Blackouts: env("BLACK", 0) == 1}
	o.Budget[Death] = uint8(env("DEATHS", 0))
	o.Budget[UserDelete] = uint8(env("DELETES", 0))
	o.Budget[Freeze] = uint8(env("FREEZES", 0))
	o.Budget[KubeletDeath] = uint8(env("KUBELETS", 0))
	o.Budget[Corruption] = uint8(env("CORRUPT", 0))
	o.Budget[NodeDelete] = uint8(env("NODES", 0))
	o.Budget[Silence] = uint8(env("SILENCE", 0))
	o.Budget[Foreign] = uint8(env("FOREIGN", 0))
	o.Budget[HookLoss] = uint8(env("HOOKS", 0))
	o.Budget[InfraLoss] = uint8(env("INFRA", 0))
	o.Budget[ScaleUp] = uint8(env("UP", 0))
	o.Budget[ScaleDown] = uint8(env("DOWN", 0))
	o.Budget[Upgrade] = uint8(env("UPGRADE", 0))
	o.Budget[WholeDelete] = uint8(env("WHOLE", 0))
	o.Empty = env("EMPTY", 0) == 1
	o.DeathInWindow = env("WINDOW", 0) == 1
	o.Now = time.Now
	o.MaxStates = env("MAX", 5000000)
	r, err := Explore(o)
	if err != nil {
		t.Error(err)
	}
	per := float64(r.States) / r.Elapsed.Seconds() / float64(r.Workers)
	t.Logf("%+v  %.0f states/s/core, %d bytes/state", r.Figures, per, r.Bytes/max(1, r.States))
	if r.Violation != nil {
		t.Fatal("\n" + r.Violation.String())
	}
}
