{{- define "gvList" -}}
<!-- Made from the Go types by `make generate`: to change a text, change the comment there. -->

# API reference
{{ range $gv := . }}
## {{ $gv.GroupVersionString }}

{{ $gv.Doc }}

### Kinds
{{ range $gv.SortedKinds }}
- {{ markdownRenderTypeLink ($gv.TypeForKind .) }}
{{- end }}

### Types
{{ range $gv.SortedTypes }}{{ template "type" . }}{{ end }}
{{- end }}
{{- end -}}

{{- define "type" -}}
{{- if markdownShouldRenderType . }}
#### {{ .Name }}
{{ if .IsAlias }}
A {{ markdownRenderTypeLink .UnderlyingType }}.
{{ end }}
{{ .Doc }}
{{ if .References }}
Used in {{ range $i, $t := .SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $t }}{{ end }}.
{{ end }}
{{- if .EnumValues }}
| value | meaning |
| --- | --- |
{{ range .EnumValues }}| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc | trimSuffix "<br />" }} |
{{ end }}
{{- end }}
{{- if .Members }}
| field | type | meaning |
| --- | --- | --- |
{{ if .GVK }}| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` |
| `kind` | string | `{{ .GVK.Kind }}` |
{{ end }}
{{- range .Members }}| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ template "meaning" . }} |
{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "meaning" -}}
{{- if eq .Name "metadata" -}}
Name, namespace, labels and annotations, as of every Kubernetes object.
{{- else -}}
{{ markdownRenderFieldDoc .Doc }}
{{- range .Validation }}
{{- if hasPrefix "Required" . }}<br />*required*{{ else if not (hasPrefix "Optional" .) }}<br />{{ . | replace "|" "\\|" | replace "{" "\\{" | replace "}" "\\}" | trim }}{{ end }}
{{- end }}
{{- end -}}
{{- end -}}
