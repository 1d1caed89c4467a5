package api_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// The managers get what they use and no more: no rule is wide open, except that the kinds of infrastructure providers
// cannot be known.
func TestRolesAreNarrow(t *testing.T) {
	files, err := filepath.Glob("../../config/rbac/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no roles found: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			// Roles and ClusterRoles have the same fields, but for the aggregation rule.
			role := rbacv1.ClusterRole{}
			if err := yaml.UnmarshalStrict(document, &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, rule := range role.Rules {
				checkRule(t, role.Name, rule)
			}
		}
	}
}

func checkRule(t *testing.T, role string, rule rbacv1.PolicyRule) {
	t.Helper()
	if len(rule.APIGroups) == 0 || len(rule.Resources) == 0 || len(rule.Verbs) == 0 {
		t.Errorf("%s: %v grants nothing", role, rule)
	}
	infrastructure := slices.Equal(rule.APIGroups, []string{"infrastructure.cluster.x-k8s.io"})
	if slices.Contains(rule.Resources, "*") && !infrastructure {
		t.Errorf("%s: every resource of %v", role, rule.APIGroups)
	}
	if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Verbs, "*") {
		t.Errorf("%s: wildcard in %v", role, rule)
	}
}
