package render

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

const (
	cloudConfigHeader = "#cloud-config\n"
	// templateHeader makes cloud-init replace expressions before it reads the document.
	templateHeader = "## template: jinja\n"
)

// writeFile is an item of write_files (https://cloudinit.readthedocs.io/en/latest/reference/modules.html).
type writeFile struct {
	Path        string `json:"path"`
	Owner       string `json:"owner,omitempty"`
	Permissions string `json:"permissions,omitempty"`
	Encoding    string `json:"encoding,omitempty"`
	Content     string `json:"content"`
}

// ntpConfig is the ntp key.
type ntpConfig struct {
	Enabled bool     `json:"enabled"`
	Servers []string `json:"servers,omitempty"`
}

// cloudConfig returns the machine's bootstrap data as a cloud-config.
func cloudConfig(in *Input) ([]byte, error) {
	files, err := machineFiles(in)
	if err != nil {
		return nil, err
	}
	expand := templated(&in.Config.AgentConfig)
	writes := make([]writeFile, 0, len(files))
	for i := range files {
		writes = append(writes, files[i].cloudInit(expand))
	}
	document, err := additionalUserData(&in.Config.AgentConfig.AdditionalUserData)
	if err != nil {
		return nil, err
	}
	document["write_files"] = writes
	document["runcmd"] = [][]string{{"/bin/sh", ScriptPath}}
	if ntp := in.Config.AgentConfig.NTP; ntp != nil {
		document["ntp"] = ntpConfig{Enabled: ntpEnabled(ntp), Servers: ntp.Servers}
	}
	body, err := yaml.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("marshal the cloud-config: %w", err)
	}
	if !expand {
		return append([]byte(cloudConfigHeader), body...), nil
	}
	if err := checkExpressions(&in.Config.AgentConfig, string(body)); err != nil {
		return nil, err
	}
	return append([]byte(templateHeader+cloudConfigHeader), body...), nil
}

func ntpEnabled(ntp *bootstrapv1.NTP) bool {
	if ntp.Enabled != nil {
		return *ntp.Enabled
	}
	return len(ntp.Servers) > 0
}

// cloudInit returns the file as an item of write_files. Content that YAML or a template could change goes as base64,
// so that the file on the machine has the very bytes it was given.
func (f *file) cloudInit(expand bool) writeFile {
	w := writeFile{Path: f.path, Owner: f.owner, Permissions: f.mode, Content: string(f.content)}
	if f.owner == "" {
		w.Owner = ownerRoot
	}
	w.Encoding = cloudInitEncoding(f.encoding)
	if isPlain(f.content) && (f.expand || !expand || !hasTemplate(f.content)) {
		return w
	}
	w.Content = base64.StdEncoding.EncodeToString(f.content)
	switch f.encoding {
	case bootstrapv1.Gzip:
		w.Encoding = "gz+b64"
	case "":
		w.Encoding = "b64"
	default:
		// The content claims to be base64 and is not even text: left as it is, cloud-init reports it.
		w.Content = string(f.content)
	}
	return w
}

func cloudInitEncoding(encoding bootstrapv1.Encoding) string {
	switch encoding {
	case bootstrapv1.Base64:
		return "b64"
	case bootstrapv1.Gzip:
		return "gz"
	case bootstrapv1.GzipBase64:
		return "gz+b64"
	default:
		return ""
	}
}

// isPlain tells whether content is text that a YAML document carries unchanged.
func isPlain(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	return !strings.ContainsFunc(string(content), func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff'
	})
}

// hasTemplate tells whether content has anything a template engine would act on.
func hasTemplate(content []byte) bool {
	text := string(content)
	return strings.Contains(text, "{{") || strings.Contains(text, "{%") || strings.Contains(text, "{#")
}

// checkExpressions makes sure that quoting, which YAML may need, left every expression as it was written.
func checkExpressions(agent *bootstrapv1.RKE2AgentConfig, body string) error {
	for _, value := range expressions(agent) {
		_, expression, _ := strings.Cut(value, "{{")
		expression = "{{" + expression
		if end := strings.LastIndex(expression, "}}"); end > 0 {
			expression = expression[:end+len("}}")]
		}
		if !strings.Contains(body, expression) {
			return fmt.Errorf("agentConfig: the expression %s cannot be written into config.yaml; "+
				"use double quotes inside of it", expression)
		}
	}
	return nil
}

// providedKeys are the keys of a cloud-config that come from the provider alone.
var providedKeys = []string{"write_files", "runcmd", "ntp"}

// additionalUserData returns the user's own keys of the cloud-config. Parse errors are reported without the text that
// could not be parsed, as it may hold secrets.
func additionalUserData(extra *bootstrapv1.AdditionalUserData) (map[string]any, error) {
	document := map[string]any{}
	if extra.Config != "" {
		if err := yaml.Unmarshal([]byte(extra.Config), &document); err != nil {
			return nil, fmt.Errorf("agentConfig.additionalUserData.config is not a YAML map")
		}
		if document == nil {
			document = map[string]any{}
		}
	}
	for _, key := range sortedKeys(extra.Data) {
		var value any
		if err := yaml.Unmarshal([]byte(extra.Data[key]), &value); err != nil {
			return nil, fmt.Errorf("agentConfig.additionalUserData.data[%q] is not YAML", key)
		}
		document[key] = value
	}
	for _, key := range providedKeys {
		delete(document, key)
	}
	return document, nil
}
