package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// property is one line of a flattened schema.
type property struct {
	kind        string // the OpenAPI type, "None" for int-or-string
	required    bool
	constraints map[string]any
}

// properties maps paths to what the schema says about them.
type properties map[string]property

// constraintNames are the schema keywords that limit which values are valid.
var constraintNames = []string{
	"enum", "pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems",
	"minProperties", "maxProperties", "uniqueItems", "multipleOf", "exclusiveMinimum", "exclusiveMaximum",
	"x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations",
}

// flatten lists every property below schema, which is found at path.
func flatten(out properties, path string, schema map[string]any, required bool) {
	p := property{kind: "None", required: required, constraints: map[string]any{}}
	if kind, ok := schema["type"].(string); ok {
		p.kind = kind
	}
	for _, name := range constraintNames {
		if value, ok := schema[name]; ok {
			p.constraints[name] = value
		}
	}
	out[path] = p

	names, _ := schema["required"].([]any)
	fields, _ := schema["properties"].(map[string]any)
	for name, field := range fields {
		flatten(out, path+"."+name, field.(map[string]any), slices.Contains(names, any(name)))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		flatten(out, path+"[]", items, false)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		flatten(out, path+"{}", values, false)
	}
}

// readCRD returns the CustomResourceDefinition in a file as plain values.
func readCRD(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return crd
}

// schemaOf returns the OpenAPI schema of one version of a CRD.
func schemaOf(t *testing.T, crd map[string]any, version string) map[string]any {
	t.Helper()
	for _, v := range crd["spec"].(map[string]any)["versions"].([]any) {
		if v := v.(map[string]any); v["name"] == version {
			return v["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
		}
	}
	t.Fatalf("no version %s", version)
	return nil
}

// readListing parses a listing of testdata.
func readListing(t *testing.T, file string) properties {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := properties{}
	for line := range strings.Lines(string(data)) {
		columns := strings.SplitN(strings.TrimSuffix(line, "\n"), "|", 4)
		if len(columns) != 4 {
			t.Fatalf("%s: %q does not have four columns", file, line)
		}
		p := property{kind: columns[1], required: columns[2] == "required", constraints: map[string]any{}}
		for constraint := range strings.SplitSeq(columns[3], "; ") {
			if constraint == "" {
				continue
			}
			name, text, _ := strings.Cut(constraint, "=")
			p.constraints[name] = parseValue(t, text)
		}
		out[columns[0]] = p
	}
	return out
}

// parseValue reads the value of a listed constraint: a list or map in single quotes, a number, or plain text.
func parseValue(t *testing.T, text string) any {
	t.Helper()
	if strings.HasPrefix(text, "[") {
		var list []any
		if err := json.Unmarshal([]byte(requote(text)), &list); err != nil {
			// A pattern may start with a bracket, too.
			return text
		}
		return list
	}
	var number float64
	if err := json.Unmarshal([]byte(text), &number); err == nil {
		return number
	}
	return text
}

// requote turns strings in single quotes into JSON strings. Inside the listings' strings ” is the only use of a
// quote, as a CEL literal, and it does not occur in the v1beta2 rules.
func requote(text string) string {
	return strings.ReplaceAll(text, "'", `"`)
}

// text renders a constraint's value for messages and for comparing values of unlike Go types.
func text(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
