// Command nodeconfigdoc writes docs/reference/node-config.md to its standard output.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/drover-project/drover/internal/render"
)

const head = `<!-- Made from the rows of internal/render/fields*.go by ` + "`make generate`" + `: to change a text, change the row. -->

# From the API to the node

Every field of an RKE2Config's spec, and of the serverConfig of an RKE2ControlPlane, and what becomes of it on the
machine. Keys are those of ` + "`/etc/rancher/rke2/config.yaml`" + `; what RKE2 does with them is described in its own
references for [servers](https://docs.rke2.io/reference/server_config) and
[agents](https://docs.rke2.io/reference/linux_agent_config).

In paths, ` + "`<data-dir>`" + ` is ` + "`/var/lib/rancher/rke2`" + ` or what agentConfig.dataDir says, ` + "`<service>`" + ` is
server or agent, ` + "`<registry>`" + ` the name of a registry in privateRegistriesConfig, with ` + "`/`" + ` written as
` + "`%2F`" + `, and ` + "`<key>`" + ` a key of the ConfigMap. A field with ` + "`[]`" + ` is one of the items of a list, one with
` + "`{}`" + ` of the values of a map.

Before anything is written, the keys and the types of their values are checked against those that RKE2 1.31 to 1.36
know. A misfit is reported in the condition DataSecretAvailable, with the name of the field.

TestEveryFieldReachesTheNode in internal/render goes through all fields: it sets the one, for each role, and compares
the keys and files that have changed, in a cloud-config and in an Ignition config, with what is said here. Of a field
that is neither a key nor a file it only sees whether the cloud-config changes; the tests that are named show more.

`

func main() {
	if _, err := os.Stdout.WriteString(page()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// page returns the whole page.
func page() string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString("## Fields\n\n")
	table(&b, "Field", render.Fields(), "TestEveryFieldReachesTheNode")
	b.WriteString("\n## What comes from other objects\n\n")
	table(&b, "Object and field", render.OtherSources(), "")
	return b.String()
}

func table(b *strings.Builder, first string, fields []render.Field, always string) {
	fmt.Fprintf(b, "| %s | Where it goes | Roles | Test |\n|---|---|---|---|\n", first)
	for i := range fields {
		f := &fields[i]
		tests := f.Tests
		if always != "" && len(tests) == 0 {
			tests = []string{always}
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.Path, place(f), roles(f.Roles), strings.Join(tests, ", "))
	}
}

// place is where a field goes, and the remark about it.
func place(f *render.Field) string {
	var parts []string
	if len(f.Keys) > 0 {
		parts = append(parts, quoted(f.Keys))
	}
	switch len(f.Files) {
	case 0:
	case 1:
		parts = append(parts, "file "+quoted(f.Files))
	default:
		parts = append(parts, "files "+quoted(f.Files))
	}
	if f.Elsewhere != "" {
		parts = append(parts, f.Elsewhere)
	}
	text := strings.Join(parts, "; ")
	if f.Note != "" {
		text += " (" + f.Note + ")"
	}
	return text
}

func quoted(words []string) string {
	return "`" + strings.Join(words, "`, `") + "`"
}

func roles(list []render.Role) string {
	first, joining := slices.Contains(list, render.FirstServer), slices.Contains(list, render.JoiningServer)
	worker := slices.Contains(list, render.Worker)
	switch {
	case first && joining && worker:
		return "all"
	case first && joining:
		return "servers"
	case len(list) == 0:
		return "none"
	}
	var names []string
	for _, role := range list {
		names = append(names, role.String())
	}
	return strings.Join(names, ", ")
}
