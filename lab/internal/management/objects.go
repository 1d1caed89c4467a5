package management

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/drover-project/drover/lab/api/crds"
	"github.com/drover-project/drover/lab/internal/provider"
)

// Definitions is what is installed into the management cluster.
type Definitions struct {
	crds     []*apiextensionsv1.CustomResourceDefinition
	webhooks []provider.Webhooks
}

// LabCRDs returns the kinds of the lab's own infrastructure provider.
func LabCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found, err := provider.ReadCRDs(crds.Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("the lab's own kinds: %w", err)
	}
	return found, nil
}

// InstallKinds creates the custom resource definitions of all providers, and
// returns once the API server serves every kind. Admission and conversion are
// set up for those providers only whose processes are started now; for the
// others PassToProvider does it later.
func (p *Plane) InstallKinds(ctx context.Context, now ...*provider.Provider) error {
	definitions, err := p.definitions(now)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := p.installClient()
	if err != nil {
		return err
	}
	for _, crd := range definitions.crds {
		if err := c.Create(ctx, crd); err != nil {
			return fmt.Errorf("install kind %s: %w", crd.Name, err)
		}
	}
	for _, webhooks := range definitions.webhooks {
		if err := createWebhooks(ctx, c, webhooks, never); err != nil {
			return err
		}
	}
	return waitEstablished(ctx, c, definitions.crds)
}

func (p *Plane) definitions(now []*provider.Provider) (Definitions, error) {
	var d Definitions
	var err error
	if d.crds, err = LabCRDs(); err != nil {
		return d, err
	}
	for _, provider := range p.config.Providers {
		found, err := provider.CRDs(p.address(), p.authority.pem())
		if err != nil {
			return d, err
		}
		d.crds = append(d.crds, found...)
		if !slices.Contains(now, provider) {
			unconverted(found)
			continue
		}
		webhooks, err := provider.Webhooks(p.address(), p.authority.pem())
		if err != nil {
			return d, err
		}
		d.webhooks = append(d.webhooks, webhooks)
	}
	return d, nil
}

// unconverted takes conversion out: an object is then served as it is stored.
func unconverted(definitions []*apiextensionsv1.CustomResourceDefinition) {
	for _, crd := range definitions {
		crd.Spec.Conversion = nil
	}
}

// PassToProvider lets the API server pass to the processes of a provider what
// they admit and convert. They must answer already.
func (p *Plane) PassToProvider(ctx context.Context, which *provider.Provider) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := p.installClient()
	if err != nil {
		return err
	}
	definitions, err := which.CRDs(p.address(), p.authority.pem())
	if err != nil {
		return err
	}
	for _, wanted := range definitions {
		if err := setConversion(ctx, c, wanted); err != nil {
			return err
		}
	}
	webhooks, err := which.Webhooks(p.address(), p.authority.pem())
	if err != nil {
		return err
	}
	// A provider that is started again has them.
	return createWebhooks(ctx, c, webhooks, apierrors.IsAlreadyExists)
}

func setConversion(ctx context.Context, c client.Client, wanted *apiextensionsv1.CustomResourceDefinition) error {
	if wanted.Spec.Conversion == nil {
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(wanted), crd); err != nil {
		return fmt.Errorf("set the conversion of %s: %w", wanted.Name, err)
	}
	before := crd.DeepCopy()
	crd.Spec.Conversion = wanted.Spec.Conversion
	if err := c.Patch(ctx, crd, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set the conversion of %s: %w", wanted.Name, err)
	}
	return nil
}

func (p *Plane) installClient() (client.WithWatch, error) {
	c, err := client.NewWithWatch(p.rest, client.Options{Scheme: installScheme()})
	if err != nil {
		return nil, fmt.Errorf("install kinds: %w", err)
	}
	return c, nil
}

func installScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	// These fail only for types that are not Kubernetes objects.
	_ = apiextensionsv1.AddToScheme(scheme)
	_ = admissionv1.AddToScheme(scheme)
	_ = corev1.AddToScheme(scheme)
	return scheme
}

func never(error) bool { return false }

// createWebhooks passes over errors that are expected.
func createWebhooks(ctx context.Context, c client.Client, webhooks provider.Webhooks, expected func(error) bool) error {
	var all []client.Object
	for _, config := range webhooks.Mutating {
		all = append(all, config)
	}
	for _, config := range webhooks.Validating {
		all = append(all, config)
	}
	for _, config := range all {
		if err := c.Create(ctx, config); err != nil && !expected(err) {
			return fmt.Errorf("install webhooks %s: %w", config.GetName(), err)
		}
	}
	return nil
}

// waitEstablished follows the definitions until all are served.
func waitEstablished(ctx context.Context, c client.WithWatch, wanted []*apiextensionsv1.CustomResourceDefinition) error {
	missing := map[string]bool{}
	for _, crd := range wanted {
		missing[crd.Name] = true
	}
	// Without a resource version the watch begins with everything that exists.
	watcher, err := c.Watch(ctx, &apiextensionsv1.CustomResourceDefinitionList{})
	if err != nil {
		return fmt.Errorf("follow the kinds: %w", err)
	}
	defer watcher.Stop()
	for len(missing) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d kinds are not served: %w", len(missing), ctx.Err())
		case event, open := <-watcher.ResultChan():
			if !open {
				return fmt.Errorf("%d kinds are not served, and the API server ended the watch", len(missing))
			}
			if crd, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok && event.Type != watch.Deleted && established(crd) {
				delete(missing, crd.Name)
			}
		}
	}
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
