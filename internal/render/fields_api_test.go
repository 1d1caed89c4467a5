package render

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
	controlplanev1 "github.com/drover-project/drover/api/controlplane/v1beta2"
)

// wholeTypes are those that are set as one.
var wholeTypes = []reflect.Type{reflect.TypeFor[corev1.ObjectReference](), reflect.TypeFor[bootstrapv1.FileSourceRef]()}

// apiFields returns the paths of all fields of the two specs.
func apiFields() []string {
	paths := leaves(reflect.TypeFor[bootstrapv1.RKE2ConfigSpec](), "")
	return append(paths, leaves(reflect.TypeFor[controlplanev1.RKE2ServerConfig](), "serverConfig")...)
}

func leaves(typ reflect.Type, path string) []string {
	switch {
	case typ.Kind() == reflect.Pointer:
		return leaves(typ.Elem(), path)
	case slices.Contains(wholeTypes, typ):
		return []string{path}
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct:
		return leaves(typ.Elem(), path+"[]")
	case typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Struct:
		return leaves(typ.Elem(), path+"{}")
	case typ.Kind() != reflect.Struct:
		return []string{path}
	}
	var paths []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		paths = append(paths, leaves(typ.Field(i).Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return paths
}

// TestEveryFieldHasARow fails when a field of the API is not in the table, and when the table has one that is not in
// the API.
func TestEveryFieldHasARow(t *testing.T) {
	rows := map[string]bool{}
	for _, field := range Fields() {
		rows[field.Path] = true
	}
	fields := apiFields()
	if len(fields) < 80 {
		t.Errorf("found only %d fields in the API", len(fields))
	}
	for _, path := range fields {
		if !rows[path] {
			t.Errorf("%s has no row: add one to fields_*.go", path)
		}
		delete(rows, path)
	}
	for path := range maps.Keys(rows) {
		t.Errorf("%s has a row and is no field of the API", path)
	}
}

// TestRowsAreComplete looks for empty cells, for keys that RKE2 does not have and for tests that do not exist.
func TestRowsAreComplete(t *testing.T) {
	tests := map[string]bool{}
	for _, row := range append(Fields(), OtherSources()...) {
		if len(row.Keys) == 0 && len(row.Files) == 0 && row.Elsewhere == "" {
			t.Errorf("%s goes nowhere", row.Path)
		}
		if len(row.Roles) == 0 && !strings.HasPrefix(row.Elsewhere, "nowhere") {
			t.Errorf("%s reaches no node", row.Path)
		}
		if row.Elsewhere != "" && len(row.Tests) == 0 {
			t.Errorf("%s has no test", row.Path)
		}
		for _, name := range row.Keys {
			if _, ok := keyTable[name]; !ok {
				t.Errorf("%s: %s is no key of config.yaml", row.Path, name)
			}
		}
		for _, name := range row.Tests {
			if found, ok := tests[name]; ok && found {
				continue
			}
			if tests[name] = testExists(t, name); !tests[name] {
				t.Errorf("%s: there is no test %s", row.Path, name)
			}
		}
	}
}

// testExists looks a test up by its name, which the folder of its package may follow in parentheses.
func testExists(t *testing.T, name string) bool {
	t.Helper()
	name, folder, _ := strings.Cut(strings.TrimSuffix(name, ")"), " (")
	dir := "."
	if folder != "" {
		dir = filepath.Join("..", "..", folder)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == name {
				return true
			}
		}
	}
	return false
}
