package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/cluster-api/feature"
	capiflags "sigs.k8s.io/cluster-api/util/flags"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	"github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/controller/bootstrap"
)

// settings are the command line flags. Their names are those of the managers
// that existing deployments start, so that a deployment changes its image and
// nothing else.
type settings struct {
	provider      string
	namespace     string
	watchFilter   string
	concurrency   int
	syncPeriod    time.Duration
	healthAddress string
	qps           float32
	burst         int
	clusters      int
	clusterQPS    float32
	clusterBurst  int
	leaderElect   bool
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration
	webhooks      controller.Webhooks
	skipMigration []string
	decisionTrace string
	dataLimits    map[string]int
	diagnostics   capiflags.ManagerOptions
	logging       *logsv1.LoggingConfiguration
}

// The values of --provider.
const (
	bootstrapProvider    = "bootstrap"
	controlPlaneProvider = "control-plane"
	bothProviders        = "both"
)

// allPhases stands for every phase of --skip-crd-migration-phases.
const allPhases = "All"

// withoutEffect are flags of existing deployments that ask for nothing here.
var withoutEffect = map[string]string{
	"profiler-address":                   "profiles are served with the diagnostics",
	"runtime-extension-client-cert-file": "no runtime extensions are called",
	"runtime-extension-client-key-file":  "no runtime extensions are called",
}

func (s *settings) addTo(f *pflag.FlagSet) {
	f.StringVar(&s.provider, "provider", bothProviders, "What to run: bootstrap, control-plane or both.")
	f.StringVar(&s.namespace, "namespace", "", "Namespace to watch. Without it all namespaces are watched.")
	f.StringVar(&s.watchFilter, "watch-filter", "",
		fmt.Sprintf("Value of the label %s that objects must have to be looked at. Without it all are.", clusterv1.WatchLabel))
	f.IntVar(&s.concurrency, "concurrency", 10, "Number of objects each controller works on at a time.")
	f.DurationVar(&s.syncPeriod, "sync-period", 10*time.Minute, "How often everything is looked at without a reason.")
	f.StringVar(&s.healthAddress, "health-addr", ":9440", "Address that /healthz and /readyz are served on.")
	f.Float32Var(&s.qps, "kube-api-qps", 100, "Most requests per second to the management cluster.")
	f.IntVar(&s.burst, "kube-api-burst", 200, "Most requests at once to the management cluster.")
	f.IntVar(&s.clusters, "clustercache-concurrency", 100, "Number of workload clusters to connect to at a time.")
	f.Float32Var(&s.clusterQPS, "clustercachetracker-client-qps", 20, "Most requests per second to each workload cluster.")
	f.IntVar(&s.clusterBurst, "clustercachetracker-client-burst", 30, "Most requests at once to each workload cluster.")

	f.BoolVar(&s.leaderElect, "leader-elect", false, "Let only one of several managers work at a time.")
	f.DurationVar(&s.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long the others wait for a leader that is silent.")
	f.DurationVar(&s.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long a leader tries to stay leader before it gives up.")
	f.DurationVar(&s.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long to wait between two tries to become or stay leader.")

	s.addWebhooksTo(f)
	f.StringSliceVar(&s.skipMigration, "skip-crd-migration-phases", nil,
		fmt.Sprintf("Phases of the migration of stored objects to leave out: %s, %s or %s.", crdmigrator.StorageVersionMigrationPhase, crdmigrator.CleanupManagedFieldsPhase, allPhases))

	f.StringToIntVar(&s.dataLimits, "bootstrap-data-limit", bootstrap.DefaultDataLimits(),
		fmt.Sprintf("Bytes, compressed, that bootstrap data may have by the kind of the infrastructure, as KIND=BYTES; 0 is no limit. The annotation %s of an RKE2Config comes first.", bootstrapv1.DataLimitAnnotation))
	f.StringVar(&s.decisionTrace, "decision-trace", "",
		"File that every decision about a control plane is appended to, as a line of JSON: what was seen, what was decided, what came of it. Without it none is kept.")

	for name, why := range withoutEffect {
		f.String(name, "", "Accepted for existing deployments, without effect: "+why+".")
	}
	capiflags.AddManagerOptions(f, &s.diagnostics)
	feature.MutableGates.AddFlag(f)
	s.logging = logs.NewOptions()
	logsv1.AddFlags(s.logging, f)
}

func (s *settings) addWebhooksTo(f *pflag.FlagSet) {
	f.IntVar(&s.webhooks.Port, "webhook-port", 9443, "Port that admission and conversion webhooks are served on. 0 serves none.")
	f.StringVar(&s.webhooks.CertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs", "Folder with tls.crt and tls.key of the webhook server, unless --webhook-cert-secret is given.")
	f.StringVar(&s.webhooks.Secret, "webhook-cert-secret", "",
		"Secret in which the manager keeps the certificate of the webhook server itself; it is read through the API and needs no mount.")
	f.StringVar(&s.webhooks.SecretNamespace, "webhook-cert-namespace", os.Getenv("POD_NAMESPACE"), "Namespace of that Secret and of the Service.")
	f.StringVar(&s.webhooks.Service, "webhook-service", "", "Service that the webhooks are called through; the certificate is issued for it.")
	f.BoolVar(&s.webhooks.CrossNamespaceReferences, "allow-cross-namespace-references", false,
		"Allow specs to name Secrets and ConfigMaps of other namespaces. Whoever may create a cluster can then read them.")
}

func (s *settings) startLogging() error {
	return logsv1.ValidateAndApply(s.logging, nil)
}

// options checks the flags and turns them into those of the manager.
func (s *settings) options(rest []string) (controller.Options, error) {
	if len(rest) > 0 {
		return controller.Options{}, fmt.Errorf("unexpected argument %q: drover takes flags only", rest[0])
	}
	if s.concurrency < 1 || s.clusters < 1 {
		return controller.Options{}, fmt.Errorf("--concurrency and --clustercache-concurrency must be at least 1")
	}
	tlsOptions, metrics, err := capiflags.GetManagerOptions(s.diagnostics)
	if err != nil {
		return controller.Options{}, fmt.Errorf("diagnostics flags: %w", err)
	}
	o := controller.Options{
		Namespace:          s.namespace,
		WatchFilter:        s.watchFilter,
		Concurrency:        s.concurrency,
		SyncPeriod:         s.syncPeriod,
		ClusterConcurrency: s.clusters,
		ClusterQPS:         s.clusterQPS,
		ClusterBurst:       s.clusterBurst,
		HealthAddress:      s.healthAddress,
		Webhooks:           s.webhooks,
		Metrics:            *metrics,
		LeaderElection: controller.LeaderElection{
			Enabled:       s.leaderElect,
			Namespace:     os.Getenv("POD_NAMESPACE"),
			LeaseDuration: s.leaseDuration,
			RenewDeadline: s.renewDeadline,
			RetryPeriod:   s.retryPeriod,
		},
	}
	o.DataLimits = bootstrap.DefaultDataLimits()
	for kind, bytes := range s.dataLimits {
		if bytes < 0 {
			return controller.Options{}, fmt.Errorf("--bootstrap-data-limit: %s=%d: give a number of bytes, or 0 for no limit", kind, bytes)
		}
		o.DataLimits[kind] = bytes
	}
	o.Webhooks.TLS = tlsOptions
	for _, phase := range s.skipMigration {
		if phase == allPhases {
			o.SkipMigrationPhases = []crdmigrator.Phase{crdmigrator.StorageVersionMigrationPhase, crdmigrator.CleanupManagedFieldsPhase}
			break
		}
		o.SkipMigrationPhases = append(o.SkipMigrationPhases, crdmigrator.Phase(phase))
	}
	switch s.provider {
	case bootstrapProvider:
		o.Bootstrap = true
	case controlPlaneProvider:
		o.ControlPlane = true
	case bothProviders:
		o.Bootstrap, o.ControlPlane = true, true
	default:
		return controller.Options{}, fmt.Errorf("--provider %q is not known: use %s, %s or %s", s.provider, bootstrapProvider, controlPlaneProvider, bothProviders)
	}
	if s.decisionTrace != "" && !o.ControlPlane {
		return controller.Options{}, fmt.Errorf("--decision-trace needs --provider %s or %s: nothing else decides", controlPlaneProvider, bothProviders)
	}
	return o, nil
}
