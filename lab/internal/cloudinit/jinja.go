package cloudinit

import (
	"fmt"
	"regexp"
	"strings"
)

// hostnameExpressions are those instance data keys which a lab machine has.
// Product templates use them for the node name.
var hostnameExpressions = []string{
	"ds.meta_data.local_hostname", "ds.meta_data.local-hostname", "ds.meta_data.hostname",
	"v1.local_hostname", "local_hostname",
}

var expression = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)

// render removes the jinja header and, only if it was there, replaces
// expressions for the hostname. Every other piece of template syntax is
// refused: real jinja would evaluate it, or fail, in ways the lab does not copy.
func render(text, hostname string) (string, error) {
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(strings.ToLower(first), " \t\r") != jinjaHeader {
		return text, nil
	}
	var unknown string
	text = expression.ReplaceAllStringFunc(rest, func(found string) string {
		inner := expression.FindStringSubmatch(found)[1]
		for _, known := range hostnameExpressions {
			if inner == known {
				return hostname
			}
		}
		if unknown == "" {
			unknown = found
		}
		return found
	})
	if unknown != "" {
		return "", fmt.Errorf("user data: the template expression %q is not known to a lab machine (known: %s)", unknown, strings.Join(hostnameExpressions, ", "))
	}
	for _, mark := range []string{"{{", "{%", "{#"} {
		if at := strings.Index(text, mark); at >= 0 {
			line := 2 + strings.Count(text[:at], "\n")
			return "", fmt.Errorf("user data, line %d: %q starts template syntax that a lab machine does not support", line, mark)
		}
	}
	return text, nil
}
