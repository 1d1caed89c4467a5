package management

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
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

// InstallKinds creates all custom resource definitions and admission webhooks,
// and returns once the API server serves every kind.
func (p *Plane) InstallKinds(ctx context.Context) error {
	definitions, err := p.definitions()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	c, err := client.NewWithWatch(p.rest, client.Options{Scheme: installScheme()})
	if err != nil {
		return fmt.Errorf("install kinds: %w", err)
	}
	for _, crd := range definitions.crds {
		if err := c.Create(ctx, crd); err != nil {
			return fmt.Errorf("install kind %s: %w", crd.Name, err)
		}
	}
	for _, webhooks := range definitions.webhooks {
		if err := createWebhooks(ctx, c, webhooks); err != nil {
			return err
		}
	}
	return waitEstablished(ctx, c, definitions.crds)
}

func (p *Plane) definitions() (Definitions, error) {
	var d Definitions
	var err error
	if d.crds, err = LabCRDs(); err != nil {
		return d, err
	}
	for _, provider := range p.config.Providers {
		found, err := provider.CRDs(Address, p.authority.pem())
		if err != nil {
			return d, err
		}
		d.crds = append(d.crds, found...)
		webhooks, err := provider.Webhooks(Address, p.authority.pem())
		if err != nil {
			return d, err
		}
		d.webhooks = append(d.webhooks, webhooks)
	}
	return d, nil
}

func installScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	// These fail only for types that are not Kubernetes objects.
	_ = apiextensionsv1.AddToScheme(scheme)
	_ = admissionv1.AddToScheme(scheme)
	return scheme
}

func createWebhooks(ctx context.Context, c client.Client, webhooks provider.Webhooks) error {
	for _, config := range webhooks.Mutating {
		if err := c.Create(ctx, config); err != nil {
			return fmt.Errorf("install webhooks %s: %w", config.Name, err)
		}
	}
	for _, config := range webhooks.Validating {
		if err := c.Create(ctx, config); err != nil {
			return fmt.Errorf("install webhooks %s: %w", config.Name, err)
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
