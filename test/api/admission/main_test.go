package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/drover-project/drover/internal/admission"
	"github.com/drover-project/drover/internal/controller"
	"github.com/drover-project/drover/internal/conversion"
	"github.com/drover-project/drover/test/apiserver"
)

const config = "../../../config/"

var (
	// kube talks to the API server all tests of the package share.
	kube client.Client
	// warned records the warnings kube was given.
	warned = &recorder{}
)

func TestMain(m *testing.M) {
	log.SetLogger(klog.Background())
	mutating, validating, err := webhooks()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(apiserver.Main(m, apiserver.Options{
		Kinds: []apiserver.Kinds{apiserver.Drover, apiserver.Clusters}, Mutating: mutating, Validating: validating,
	}, prepare))
}

// prepare runs a manager that serves the webhooks of the API server.
func prepare(ctx context.Context, s *apiserver.Server) error {
	mgr, err := manager(s)
	if err != nil {
		return err
	}
	s.Go(mgr.Start)
	userConfig := rest.CopyConfig(s.Config)
	userConfig.Timeout, userConfig.WarningHandler = 30*time.Second, warned
	if kube, err = client.New(userConfig, client.Options{Scheme: mgr.GetScheme()}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return convert(ctx, s)
}

// manager serves the webhooks of both providers.
func manager(s *apiserver.Server) (ctrl.Manager, error) {
	scheme, err := controller.Scheme()
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(s.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, WebhookServer: s.WebhookServer(),
	})
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	if err := admission.SetupWithManager(mgr, admission.Options{Bootstrap: true, ControlPlane: true}); err != nil {
		return nil, err
	}
	return mgr, conversion.SetupWithManager(mgr, conversion.Options{Bootstrap: true, ControlPlane: true})
}

// unchecked is a label of namespaces in which nothing is admitted by webhooks.
const unchecked = "unchecked"

// webhooks reads the generated configurations.
func webhooks() (mutating []*admissionregistrationv1.MutatingWebhookConfiguration, validating []*admissionregistrationv1.ValidatingWebhookConfiguration, err error) {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: unchecked, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
	for _, provider := range []string{"bootstrap", "control-plane"} {
		documents, err := split(filepath.Join(config, "webhook", provider, "manifests.yaml"))
		if err != nil {
			return nil, nil, err
		}
		m, v := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
		if err := errors.Join(yaml.UnmarshalStrict(documents[0], m), yaml.UnmarshalStrict(documents[1], v)); err != nil {
			return nil, nil, fmt.Errorf("webhooks of %s: %w", provider, err)
		}
		m.Name, v.Name = provider+"-"+m.Name, provider+"-"+v.Name
		for i := range m.Webhooks {
			m.Webhooks[i].NamespaceSelector = selector
		}
		for i := range v.Webhooks {
			v.Webhooks[i].NamespaceSelector = selector
		}
		mutating, validating = append(mutating, m), append(validating, v)
	}
	return mutating, validating, nil
}

// convert lets the API server convert the kinds through the manager, and waits
// until it does.
func convert(ctx context.Context, s *apiserver.Server) error {
	o := s.Webhooks
	address := "https://" + net.JoinHostPort(o.LocalServingHost, strconv.Itoa(o.LocalServingPort)) + "/convert"
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := kube.List(ctx, crds); err != nil {
		return fmt.Errorf("list CRDs: %w", err)
	}
	for i := range crds.Items {
		crd := &crds.Items[i]
		if crd.Spec.Group == clusterv1.GroupVersion.Group {
			continue
		}
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &address, CABundle: o.LocalServingCAData},
				ConversionReviewVersions: []string{"v1"},
			},
		}
		if err := kube.Update(ctx, crd); err != nil {
			return fmt.Errorf("convert %s by webhook: %w", crd.Name, err)
		}
	}
	// The server of the webhooks may still be starting, and the API server takes
	// up a changed CRD with a delay.
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = kube.Create(ctx, oldControlPlane("default"), client.DryRunAll)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("webhooks do not answer: %w", errors.Join(err, last))
	}
	return nil
}

// space makes a namespace for one test.
func space(t *testing.T, labels map[string]string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	if err := kube.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	warned.clear()
	return ns.Name
}
