package bootstrap

import (
	"context"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/secrets"
)

// tokens reads what the machine proves itself with. A worker gets a token that lets no server join. Clusters that
// another provider started have one token only, and it stays so: all servers have to agree on that.
func (r *Reconciler) tokens(ctx context.Context, t *target, controlPlane *controlplanev1.RKE2ControlPlane, in *render.Input) error {
	server, err := secrets.LookupToken(ctx, r.APIReader, t.clusterKey())
	if err != nil {
		return err
	}
	agent := server
	ours := !desired.TakenOver(controlPlane)
	if ours {
		if agent, err = secrets.LookupAgentToken(ctx, r.APIReader, t.clusterKey()); err != nil {
			return err
		}
	}
	if in.Role != render.Worker && ours {
		in.AgentToken = agent
	}
	if in.Role == render.FirstServer {
		in.Token = server
		return nil
	}
	authority, err := secrets.LookupCA(ctx, r.APIReader, t.clusterKey(), secrets.ServerCA)
	if err != nil {
		return err
	}
	// The files on servers of another provider's are known to be the Secret's bytes only where that provider had no
	// reason to change them.
	pin := ours || secrets.IsCanonical(authority.Cert)
	switch {
	case in.Role == render.Worker && pin:
		in.Token, err = secrets.Pinned(agent, secrets.AgentUser, authority.Cert)
	case pin:
		in.Token, err = secrets.Pinned(server, secrets.ServerUser, authority.Cert)
	default:
		in.Token = agent
	}
	return err
}
