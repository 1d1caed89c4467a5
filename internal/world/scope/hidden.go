package scope

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/world/secrets"
)

// Authorities are the certificate authorities that Secrets of the cluster have
// to hold.
func (s *Scope) Authorities() []secrets.Purpose {
	return secrets.Purposes(s.ControlPlane.IsLegacy() && (s.HiddenEtcd || hasDatastore(s.ControlPlane)))
}

func hasDatastore(cp *controlplanev1.RKE2ControlPlane) bool {
	return cp.Spec.ServerConfig.ExternalDatastoreSecret != nil
}

// hidesEtcd tells whether etcd of a control plane can't be asked for want of its
// authority. What is wrong with a Secret that exists is told elsewhere.
func hidesEtcd(ctx context.Context, c client.Reader, cp *controlplanev1.RKE2ControlPlane, cluster client.ObjectKey) (bool, error) {
	if !cp.IsLegacy() || hasDatastore(cp) {
		return false, nil
	}
	_, err := secrets.LookupCA(ctx, c, cluster, secrets.EtcdCA)
	var content *secrets.ContentError
	if errors.As(err, &content) {
		return content.NotFound, nil
	}
	return false, err
}
