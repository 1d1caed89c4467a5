package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
	"github.com/drover-project/drover/internal/render"
	"github.com/drover-project/drover/internal/version"
	"github.com/drover-project/drover/internal/world/desired"
	"github.com/drover-project/drover/internal/world/scope"
	"github.com/drover-project/drover/internal/world/secrets"
)

// generate makes the bootstrap data of a Machine that has none. The error is a *wait when that is not possible yet.
func (r *Reconciler) generate(ctx context.Context, t *target) error {
	in, out, err := r.render(ctx, t)
	if err != nil {
		return err
	}
	if in.Role == render.FirstServer && !t.dataOutlived {
		// The lock comes last: a machine whose data cannot be made must not keep others from starting the cluster.
		if err := r.lock(ctx, t); err != nil {
			return err
		}
	} else if err := r.unlock(ctx, t.clusterKey()); err != nil {
		return err
	}
	if err := r.saveData(ctx, t, &out, nil); err != nil {
		return err
	}
	t.setDataSecret(t.config.Name)
	r.tellMade(ctx, t, &in, &out)
	return nil
}

// render makes the data without writing them. The error is a *wait when that is not possible yet.
func (r *Reconciler) render(ctx context.Context, t *target) (in render.Input, out render.Output, err error) {
	controlPlane, err := r.controlPlane(ctx, t)
	if err != nil {
		return in, out, err
	}
	if in, err = r.input(ctx, t, controlPlane); err != nil {
		return in, out, err
	}
	if out, err = render.Bootstrap(in); err != nil {
		return in, out, waitFor(bootstrapv1.DataSecretNotAvailableReason, "%v", err)
	}
	return in, out, nil
}

// tellMade says that data were made where there were none.
func (r *Reconciler) tellMade(ctx context.Context, t *target, in *render.Input, out *render.Output) {
	ctrl.LoggerFrom(ctx).Info("Made the bootstrap data", "role", in.Role.String(), "version", in.Version.String())
	r.Recorder.Eventf(t.config, t.owner(), corev1.EventTypeNormal, "BootstrapDataCreated", "Create",
		"made the bootstrap data of %s as %s of %s", t.ownerName(), in.Role, in.Version)
	r.tellWarnings(t, out)
}

func (r *Reconciler) tellWarnings(t *target, out *render.Output) {
	for _, warning := range out.Warnings {
		r.Recorder.Eventf(t.config, nil, corev1.EventTypeWarning, "SettingWithoutEffect", "Create", "%s", warning)
	}
}

// input gathers what the bootstrap data depend on.
func (r *Reconciler) input(ctx context.Context, t *target, controlPlane *controlplanev1.RKE2ControlPlane) (render.Input, error) {
	in := render.Input{Config: t.config.Spec}
	servers, err := r.otherServers(ctx, t)
	if err != nil {
		return in, err
	}
	join := registration{target: t, controlPlane: controlPlane, servers: servers}
	in.Cluster = clusterSettings(t, controlPlane, join.wanted())
	if in.Version, err = version.Parse(t.machineSpec().Version); err != nil {
		return in, waitFor(bootstrapv1.DataSecretNotAvailableReason, "%s: %s: %v%s",
			t.ownerName(), t.versionField(), err, versionOwner(t, controlPlane))
	}
	if in.Server, err = serverConfig(t, controlPlane); err != nil {
		return in, err
	}
	if in.Role, err = role(t, controlPlane, servers); err != nil {
		return in, err
	}
	if in.Role == render.JoiningServer && in.Server.ExternalDatastoreSecret != nil && !join.hasServer() {
		in.Role, t.dataOutlived = render.FirstServer, true
	}
	if in.Role == render.FirstServer {
		in.CAs, err = r.certificates(ctx, t, controlPlane)
	} else {
		in.JoinAddress, err = join.host()
	}
	if err != nil {
		return in, err
	}
	if err := r.tokens(ctx, t, controlPlane, &in); err != nil {
		return in, missing(err)
	}
	t.secretsFound = true
	if in.Limit, err = r.Limits.limit(t.config, t.machineSpec().InfrastructureRef.Kind); err != nil {
		return in, err
	}
	resolver := resolver{reader: r.APIReader, namespace: t.config.Namespace, crossNamespace: r.CrossNamespaceReferences}
	in.Contents, err = resolver.contents(ctx, &in, controlPlane)
	return in, err
}

// versionOwner says where the version of a server's Machine comes from, so that the right object gets mended.
func versionOwner(t *target, controlPlane *controlplanev1.RKE2ControlPlane) string {
	if !t.isServer() {
		return ""
	}
	return fmt.Sprintf("; it comes from spec.version of RKE2ControlPlane %s", controlPlane.Name)
}

// serverConfig returns the settings of the servers. For a server they are those its Machine was made with, which is
// what the Machine is compared with later: the control plane's may have changed since.
func serverConfig(t *target, controlPlane *controlplanev1.RKE2ControlPlane) (controlplanev1.RKE2ServerConfig, error) {
	text, ok := t.owner().GetAnnotations()[controlplanev1.ServerConfigurationAnnotation]
	if !t.isServer() || !ok {
		return desired.ServerConfig(controlPlane, controlPlane.Spec.ServerConfig), nil
	}
	var config controlplanev1.RKE2ServerConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return config, waitFor(bootstrapv1.DataSecretNotAvailableReason,
			"Machine %s: the annotation %s is not the JSON of a serverConfig; delete the Machine to have it made anew",
			t.machine.Name, controlplanev1.ServerConfigurationAnnotation)
	}
	return desired.ServerConfig(controlPlane, config), nil
}

// clusterSettings takes from the Cluster what all servers have to know.
func clusterSettings(t *target, controlPlane *controlplanev1.RKE2ControlPlane, wanted desired.Registration) render.Cluster {
	network := t.cluster.Spec.ClusterNetwork
	settings := render.Cluster{
		EndpointHost:     t.cluster.Spec.ControlPlaneEndpoint.Host,
		PodCIDRs:         network.Pods.CIDRBlocks,
		ServiceCIDRs:     network.Services.CIDRBlocks,
		RegistrationHost: wanted.Address,
	}
	// All servers have to agree on the domain, and servers another provider made do not have the Cluster's.
	if !desired.TakenOver(controlPlane) {
		settings.Domain = network.ServiceDomain
	}
	return settings
}

// role decides what the machine becomes. The Cluster's own status is not enough to tell that there is no first server
// yet: after a move to another management cluster it is empty for a while, and a second first server would start a
// second cluster under the first one's name.
func role(t *target, controlPlane *controlplanev1.RKE2ControlPlane, servers []clusterv1.Machine) (render.Role, error) {
	running := initialized(t.cluster) || scope.Initialized(controlPlane)
	switch {
	case t.isServer() && running:
		return render.JoiningServer, nil
	case t.isServer():
		return render.FirstServer, noOtherServer(t, servers)
	case initialized(t.cluster):
		return render.Worker, nil
	default:
		return 0, waitFor(bootstrapv1.WaitingForControlPlaneInitializedReason,
			"waiting for the first server of Cluster %s to come up (ControlPlaneInitialized)", t.cluster.Name)
	}
}

// noOtherServer is a *wait while there is another Machine of a server that has been given its bootstrap data. That it
// is being deleted makes no difference: its server may still run.
func noOtherServer(t *target, servers []clusterv1.Machine) error {
	for i := range servers {
		if !hasNoData(&servers[i]) {
			return waitFor(bootstrapv1.WaitingForControlPlaneInitializedReason,
				"waiting for Cluster %s to be initialized: Machine %s has its bootstrap data already and may be its first server",
				t.cluster.Name, servers[i].Name)
		}
	}
	return nil
}

// certificates reads the certificate authorities the first server is given. RKE2 makes those itself that a legacy
// cluster does not have.
func (r *Reconciler) certificates(ctx context.Context, t *target, controlPlane *controlplanev1.RKE2ControlPlane) (*render.CAs, error) {
	var cas render.CAs
	places := map[secrets.Purpose]*render.KeyPair{
		secrets.ServerCA: &cas.Server, secrets.ClientCA: &cas.Client,
		secrets.EtcdCA: &cas.EtcdServer, secrets.EtcdPeerCA: &cas.EtcdPeer,
	}
	for _, purpose := range secrets.Purposes(controlPlane.IsLegacy()) {
		found, err := secrets.LookupCA(ctx, r.APIReader, t.clusterKey(), purpose)
		if err != nil {
			return nil, missing(err)
		}
		*places[purpose] = render.KeyPair{Cert: found.Cert, Key: found.Key}
	}
	return &cas, nil
}

// missing turns the report about a Secret of the cluster into a wait. They are watched.
func missing(err error) error {
	var content *secrets.ContentError
	if !errors.As(err, &content) {
		return err
	}
	w := waitFor(bootstrapv1.DataSecretNotAvailableReason, "waiting for the cluster's Secrets: %v", content)
	if !content.NotFound {
		w.message = content.Error()
	}
	w.certificates = true
	return w
}
