package compat

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// mostDifferences is how many are told.
const mostDifferences = 5

// specDifference tells in words how the second spec differs from the first; "" if it does not.
func specDifference(before, after any) string {
	found := differences("spec", before, after)
	if len(found) > mostDifferences {
		found = append(found[:mostDifferences], fmt.Sprintf("and %d more", len(found)-mostDifferences))
	}
	return strings.Join(found, "; ")
}

func differences(path string, before, after any) []string {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	a, isMap := before.(map[string]any)
	b, bothMaps := after.(map[string]any)
	if !isMap || !bothMaps {
		return []string{fmt.Sprintf("%s: %s became %s", path, shown(before), shown(after))}
	}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		found = append(found, differences(path+"."+key, a[key], b[key])...)
	}
	return found
}

func shown(value any) string {
	if value == nil {
		return "nothing"
	}
	const most = 80
	text := []rune(fmt.Sprintf("%v", value))
	if len(text) > most {
		text = append(text[:most], '…')
	}
	return string(text)
}
