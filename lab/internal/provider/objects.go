package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// CRDs reads every CustomResourceDefinition of the provider, with conversion
// pointed to its processes at address, whose certificates caBundle (PEM) verifies.
func (p *Provider) CRDs(address string, caBundle []byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := ReadCRDs(os.DirFS(p.dir), "crds/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	for _, crd := range crds {
		if err := p.setConversion(crd, address, caBundle); err != nil {
			return nil, fmt.Errorf("provider %s: %s: %w", p.Name, crd.Name, err)
		}
	}
	return crds, nil
}

// setConversion does what a provider's kustomize patches would do: kinds with
// several versions are converted by the process that serves their group.
func (p *Provider) setConversion(crd *apiextensionsv1.CustomResourceDefinition, address string, caBundle []byte) error {
	if len(crd.Spec.Versions) < 2 {
		crd.Spec.Conversion = nil
		return nil
	}
	i := slices.IndexFunc(p.Processes, func(process Process) bool {
		return process.Webhook != nil && slices.Contains(process.Webhook.ConversionGroups, crd.Spec.Group)
	})
	if i < 0 {
		if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
			return fmt.Errorf("it wants a conversion webhook, but no process has %s in webhook.conversionGroups", crd.Spec.Group)
		}
		return nil
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				URL:      ptr.To(webhookURL(address, p.Processes[i].Webhook.Port, "/convert")),
				CABundle: caBundle,
			},
		},
	}
	return nil
}

func webhookURL(address string, port int, path string) string {
	return fmt.Sprintf("https://%s:%d%s", address, port, path)
}

// Webhooks are the admission webhook configurations of a provider.
type Webhooks struct {
	Mutating   []*admissionv1.MutatingWebhookConfiguration
	Validating []*admissionv1.ValidatingWebhookConfiguration
}

// Webhooks reads the provider's admission webhooks, pointed to its process at
// address. Their names get the provider's name in front, as kustomize would do,
// and configurations of the same name become one.
func (p *Provider) Webhooks(address string, caBundle []byte) (Webhooks, error) {
	var out Webhooks
	i := slices.IndexFunc(p.Processes, func(process Process) bool { return process.Webhook != nil && process.Webhook.Admission })
	err := eachDocument(os.DirFS(p.dir), "webhooks/*.yaml", func(file string, document []byte) error {
		if i < 0 {
			return fmt.Errorf("%s: no process has webhook.admission: true", file)
		}
		point := func(c *admissionv1.WebhookClientConfig) { redirect(c, address, p.Processes[i].Webhook.Port, caBundle) }
		return out.add(document, p.Name+"-", point)
	})
	if err != nil {
		return Webhooks{}, fmt.Errorf("provider %s: %w", p.Name, err)
	}
	return out, nil
}

func (w *Webhooks) add(document []byte, prefix string, point func(*admissionv1.WebhookClientConfig)) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return err
	}
	switch meta.Kind {
	case "MutatingWebhookConfiguration":
		config := &admissionv1.MutatingWebhookConfiguration{}
		if err := yaml.UnmarshalStrict(document, config); err != nil {
			return err
		}
		config.Name = prefix + config.Name
		for i := range config.Webhooks {
			point(&config.Webhooks[i].ClientConfig)
		}
		if i := slices.IndexFunc(w.Mutating, func(other *admissionv1.MutatingWebhookConfiguration) bool { return other.Name == config.Name }); i >= 0 {
			w.Mutating[i].Webhooks = append(w.Mutating[i].Webhooks, config.Webhooks...)
			return nil
		}
		w.Mutating = append(w.Mutating, config)
	case "ValidatingWebhookConfiguration":
		config := &admissionv1.ValidatingWebhookConfiguration{}
		if err := yaml.UnmarshalStrict(document, config); err != nil {
			return err
		}
		config.Name = prefix + config.Name
		for i := range config.Webhooks {
			point(&config.Webhooks[i].ClientConfig)
		}
		if i := slices.IndexFunc(w.Validating, func(other *admissionv1.ValidatingWebhookConfiguration) bool { return other.Name == config.Name }); i >= 0 {
			w.Validating[i].Webhooks = append(w.Validating[i].Webhooks, config.Webhooks...)
			return nil
		}
		w.Validating = append(w.Validating, config)
	default:
		return fmt.Errorf("the kind %q does not belong into webhooks/", meta.Kind)
	}
	return nil
}

// redirect replaces the service that a webhook names by an address.
func redirect(c *admissionv1.WebhookClientConfig, address string, port int, caBundle []byte) {
	path := "/"
	if c.Service != nil && c.Service.Path != nil {
		path = *c.Service.Path
	}
	*c = admissionv1.WebhookClientConfig{URL: ptr.To(webhookURL(address, port, path)), CABundle: caBundle}
}

// ReadCRDs reads the CustomResourceDefinitions of all files that match pattern.
func ReadCRDs(files fs.FS, pattern string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	err := eachDocument(files, pattern, func(file string, document []byte) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := unmarshal(document, crd); err != nil {
			return err
		}
		if crd.Kind != "CustomResourceDefinition" || crd.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
			return fmt.Errorf("%s %q is not a %s CustomResourceDefinition", crd.APIVersion, crd.Kind, apiextensionsv1.SchemeGroupVersion)
		}
		crds = append(crds, crd)
		return nil
	})
	return crds, err
}

// unmarshal goes through JSON, because a schema's defaults are raw JSON.
func unmarshal(document []byte, into any) error {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// eachDocument calls f for every YAML document that is not empty.
func eachDocument(files fs.FS, pattern string, f func(file string, document []byte) error) error {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return fmt.Errorf("find %s: %w", pattern, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read manifest: %w", err)
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if isEmpty(document) {
				continue
			}
			if err := f(name, document); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func isEmpty(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}
