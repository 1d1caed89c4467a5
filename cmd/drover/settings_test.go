package main

import (
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	cliflag "k8s.io/component-base/cli/flag"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/controller/bootstrap"
)

func parse(args ...string) (controller.Options, error) {
	f := pflag.NewFlagSet("drover", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	f.AddGoFlagSet(flag.NewFlagSet("go", flag.ContinueOnError))
	var s settings
	s.addTo(f)
	if err := f.Parse(args); err != nil {
		return controller.Options{}, err
	}
	return s.options(f.Args())
}

// The command lines of existing deployments must keep working.
func TestFlagsOfExistingDeployments(t *testing.T) {
	o, err := parse("--leader-elect", "--leader-elect-lease-duration=20s", "--diagnostics-address=:8080", "--insecure-diagnostics=true",
		"--sync-period=5m", "--v=2", "--feature-gates=MachinePool=true,ClusterTopology=true", "--concurrency=3", "--namespace=a",
		"--watch-filter=b", "--health-addr=:9000", "--webhook-port=9443", "--webhook-cert-dir=/certs", "--profiler-address=",
		"--clustercachetracker-client-qps=5", "--clustercachetracker-client-burst=6", "--clustercache-concurrency=7",
		"--tls-min-version=VersionTLS13", "--skip-crd-migration-phases=All")
	if err != nil {
		t.Fatal(err)
	}
	if !o.Bootstrap || !o.ControlPlane || o.Concurrency != 3 || o.Namespace != "a" || o.WatchFilter != "b" || o.SyncPeriod != 5*time.Minute ||
		o.HealthAddress != ":9000" || o.ClusterQPS != 5 || o.ClusterBurst != 6 || o.ClusterConcurrency != 7 ||
		!o.LeaderElection.Enabled || o.LeaderElection.LeaseDuration != 20*time.Second || o.Metrics.BindAddress != ":8080" || o.Metrics.SecureServing {
		t.Errorf("%+v", o)
	}
}

func TestDataLimits(t *testing.T) {
	o, err := parse("--bootstrap-data-limit=AWSMachine=0,MetalMachine=65536")
	if err != nil {
		t.Fatal(err)
	}
	want := bootstrap.DataLimits{"AWSMachine": 0, "AWSMachinePool": 16384, "MetalMachine": 65536}
	if !maps.Equal(o.DataLimits, want) {
		t.Errorf("%v", o.DataLimits)
	}
	if _, err := parse("--bootstrap-data-limit=A=-1"); err == nil || !strings.Contains(err.Error(), "--bootstrap-data-limit: A=-1") {
		t.Errorf("%v", err)
	}
}

// The arguments of the released Deployments, with the defaults of the variables that clusterctl replaces.
func TestFlagsOfTheManifests(t *testing.T) {
	deployment := &appsv1.Deployment{}
	readYAML(t, "manager/deployment.yaml", deployment)
	variable := regexp.MustCompile(`\$\{[A-Z0-9_]+:=([^}]*)\}`)
	for _, provider := range []string{bootstrapProvider, controlPlaneProvider} {
		var own []struct{ Value string }
		readYAML(t, provider+"/arguments.yaml", &own)
		args := slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args)
		for _, argument := range own {
			args = append(args, argument.Value)
		}
		for i, argument := range args {
			args[i] = variable.ReplaceAllString(argument, "$1")
		}
		o, err := parse(args...)
		if err != nil {
			t.Fatalf("%s: %v", provider, err)
		}
		if o.Bootstrap == o.ControlPlane || o.Bootstrap != (provider == bootstrapProvider) || !o.LeaderElection.Enabled ||
			o.Concurrency != 10 || !o.Metrics.SecureServing || o.Metrics.BindAddress != ":8443" {
			t.Errorf("%s: %+v", provider, o)
		}
		if w := o.Webhooks; w.Port != 9443 || w.Secret != "rke2-"+provider+"-webhook-certificate" || w.Service != "rke2-"+provider+"-webhook-service" {
			t.Errorf("%s: %+v", provider, w)
		}
	}
}

// The migration itself knows no "All".
func TestSkippedMigrationPhases(t *testing.T) {
	storage, cleanup := crdmigrator.StorageVersionMigrationPhase, crdmigrator.CleanupManagedFieldsPhase
	for arg, want := range map[string][]crdmigrator.Phase{
		"": nil, "All": {storage, cleanup}, "CleanupManagedFields": {cleanup}, "CleanupManagedFields,All": {storage, cleanup},
		"StorageVersionMigration,CleanupManagedFields": {storage, cleanup},
	} {
		if o, err := parse("--skip-crd-migration-phases=" + arg); err != nil || !slices.Equal(o.SkipMigrationPhases, want) {
			t.Errorf("%q: %v, %v, want %v", arg, o.SkipMigrationPhases, err, want)
		}
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestProviders(t *testing.T) {
	for provider, want := range map[string][2]bool{"bootstrap": {true, false}, "control-plane": {false, true}, "both": {true, true}} {
		o, err := parse("--provider=" + provider)
		if err != nil || o.Bootstrap != want[0] || o.ControlPlane != want[1] {
			t.Errorf("%s: %v, bootstrap %v, control plane %v", provider, err, o.Bootstrap, o.ControlPlane)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--provider=all":  "use bootstrap, control-plane or both",
		"--concurrency=0": "at least 1",
		"start":           `unexpected argument "start"`,
		"--no-such-flag":  "unknown flag",
		"--provider=bootstrap --decision-trace=f": "--decision-trace needs --provider control-plane or both",
		"--tls-min-version=1.2.3":                 "unknown tls version",
	} {
		if _, err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}
