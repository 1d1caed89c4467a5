package compat

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kinds that references of our specs name.
const (
	secretKind    = "Secret"
	configMapKind = "ConfigMap"
)

// referent says what a field refers to, and which keys are read from it.
type referent struct {
	kind string
	keys []string
}

// referents are the fields of our kinds that refer to a Secret or ConfigMap by name.
var referents = map[string]referent{
	"authSecret":                       {secretKind, []string{"username", "password"}},
	"tlsConfigSecret":                  {secretKind, []string{"tls.crt", "tls.key", "ca.crt"}},
	"auditPolicySecret":                {secretKind, []string{"audit-policy.yaml"}},
	"s3CredentialSecret":               {secretKind, []string{"aws_access_key_id", "aws_secret_access_key"}},
	"endpointCAsecret":                 {secretKind, []string{"ca.pem"}},
	"externalDatastoreSecret":          {secretKind, []string{"endpoint"}},
	"encryptionKeySecret":              {secretKind, []string{"encryptionKey"}},
	"manifestsConfigMapReference":      {configMapKind, []string{"manifest.yaml"}},
	"cloudProviderConfigMap":           {configMapKind, []string{"cloud-config"}},
	"imageCredentialProviderConfigMap": {configMapKind, []string{"credential-config.yaml", "credential-provider-binaries"}},
	"resolvConf":                       {configMapKind, []string{"resolv.conf"}},
}

// missingReferents returns the Secrets and ConfigMaps that our objects of a
// sample refer to and that the sample leaves to its user.
func missingReferents(s *sample) []client.Object {
	have := map[string]bool{}
	for _, o := range s.objects {
		have[o.GetKind()+"/"+o.GetName()] = true
	}
	var missing []client.Object
	for _, o := range s.objects {
		if !isOurs(o) {
			continue
		}
		visitReferences(o.Object["spec"], "", func(kind, name string, keys []string) {
			if name == "" || have[kind+"/"+name] {
				return
			}
			have[kind+"/"+name] = true
			missing = append(missing, standIn(s.name, kind, name, keys))
		})
	}
	return missing
}

// visitReferences walks through a spec.
func visitReferences(value any, field string, visit func(kind, name string, keys []string)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			visitReferences(item, field, visit)
		}
	case map[string]any:
		name, _ := v["name"].(string)
		if to, ok := referents[field]; ok {
			visit(to.kind, name, to.keys)
		}
		// Only files take their content from somewhere else; there the reference names the key.
		if key, ok := v["key"].(string); ok && (field == "secret" || field == "configMap") {
			visit(map[string]string{"secret": secretKind, "configMap": configMapKind}[field], name, []string{key})
		}
		for _, child := range slices.Sorted(maps.Keys(v)) {
			visitReferences(v[child], child, visit)
		}
	}
}

func standIn(namespace, kind, name string, keys []string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	data := map[string]string{}
	for _, key := range keys {
		data[key] = "stands in for the user's own"
	}
	if kind == secretKind {
		return &corev1.Secret{ObjectMeta: meta, StringData: data}
	}
	return &corev1.ConfigMap{ObjectMeta: meta, Data: data}
}

func isOurs(o *unstructured.Unstructured) bool {
	group := o.GroupVersionKind().Group
	return group == bootstrapGroup || group == controlPlaneGroup
}
