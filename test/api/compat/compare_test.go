package compat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// narrowings returns, sorted, everything in ours that refuses what listed accepts.
func narrowings(listed, ours properties) []string {
	var found []string
	for path, want := range listed {
		have, ok := ours[path]
		if !ok {
			found = append(found, path+": missing")
			continue
		}
		found = append(found, compareProperty(path, want, have)...)
	}
	for path, have := range ours {
		_, known := listed[path]
		if _, parentKnown := listed[parent(path)]; !known && parentKnown && have.required {
			found = append(found, path+": new and required")
		}
	}
	slices.Sort(found)
	return found
}

// parent returns the path of the object a property belongs to.
func parent(path string) string {
	return path[:max(strings.LastIndex(path, "."), 0)]
}

func compareProperty(path string, want, have property) []string {
	var found []string
	if want.kind != have.kind {
		found = append(found, fmt.Sprintf("%s: type %s became %s", path, want.kind, have.kind))
	}
	if have.required && !want.required {
		found = append(found, path+": optional became required")
	}
	names := slices.Collect(maps.Keys(want.constraints))
	for name := range have.constraints {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		found = append(found, compareConstraint(path, name, want.constraints[name], have.constraints[name])...)
	}
	return found
}

// compareConstraint compares one constraint; a missing one is nil.
func compareConstraint(path, name string, want, have any) []string {
	switch name {
	case "x-kubernetes-validations":
		return compareRules(path, asList(want), asList(have))
	case "x-kubernetes-map-type", "x-kubernetes-list-type", "x-kubernetes-list-map-keys":
		// These say how appliers merge: neither value is wider.
		if text(want) != text(have) {
			return []string{fmt.Sprintf("%s: %s was %s, is %s", path, name, text(want), text(have))}
		}
		return nil
	}
	if have == nil || text(want) == text(have) {
		return nil
	}
	if want != nil && wider(name, want, have) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s was %s, is %s", path, name, text(want), text(have))}
}

// wider tells whether have accepts all that want accepts. Two different patterns or formats never count as wider.
func wider(name string, want, have any) bool {
	switch {
	case name == "enum":
		for _, value := range asList(want) {
			if !slices.Contains(asList(have), value) {
				return false
			}
		}
		return true
	case strings.HasPrefix(name, "min"):
		return number(have) <= number(want)
	case strings.HasPrefix(name, "max"):
		return number(have) >= number(want)
	}
	return false
}

// compareRules wants every listed CEL rule kept, and no rule added to a listed property.
func compareRules(path string, want, have []any) []string {
	var found []string
	for _, rule := range want {
		if !hasRule(have, ruleText(rule)) {
			found = append(found, fmt.Sprintf("%s: rule %s is gone", path, ruleText(rule)))
		}
	}
	for _, rule := range have {
		if !hasRule(want, ruleText(rule)) {
			found = append(found, fmt.Sprintf("%s: rule %s is new", path, ruleText(rule)))
		}
	}
	return found
}

func hasRule(rules []any, text string) bool {
	return slices.ContainsFunc(rules, func(rule any) bool { return ruleText(rule) == text })
}

func ruleText(rule any) string {
	return rule.(map[string]any)["rule"].(string)
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

func number(value any) float64 {
	switch n := value.(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}
