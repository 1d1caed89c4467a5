package architecture

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/drover-project/drover/"

// pure packages may reach nothing that does I/O, knows Kubernetes or reads the
// clock.
var pure = []string{"internal/model", "internal/quorum", "internal/plan", "internal/sim", "internal/trace", "internal/version", "internal/explain"}

// forbidden are the import paths that a pure package must not reach, directly
// or through others. Each stands for itself and everything below it.
var forbidden = []string{"k8s.io", "sigs.k8s.io", "net", "os/exec", "database/sql"}

// mayImport gives, for each area of the product, the areas it may import.
// Every area may import itself. It follows the table of the design: imports go
// downwards only.
var mayImport = map[string][]string{
	"internal/model":        {},
	"internal/version":      {},
	"internal/quorum":       {"internal/model"},
	"internal/plan":         {"internal/model", "internal/quorum", "internal/version"},
	"internal/trace":        {"internal/model"},
	"internal/sim":          {"internal/model", "internal/quorum", "internal/plan", "internal/trace"},
	"internal/explain":      {"internal/model", "internal/quorum", "internal/plan"},
	"internal/report":       {"internal/model", "internal/quorum", "internal/version", "api"},
	"internal/render":       {"internal/version", "api"},
	"internal/world":        {"internal/model", "internal/version", "api"},
	"internal/observe":      {"internal/model", "internal/version", "internal/world", "api"},
	"internal/act":          {"internal/model", "internal/quorum", "internal/version", "internal/world", "api"},
	"internal/upkeep":       {"internal/model", "internal/version", "internal/world", "api"},
	"internal/conversion":   {"api"},
	"internal/admission":    {"internal/version", "api"},
	"internal/certificates": {},
	"internal/controller":   {"internal/conversion", "internal/admission", "internal/certificates", "internal/model", "internal/version", "internal/plan", "internal/report", "internal/render", "internal/world", "internal/observe", "internal/act", "internal/upkeep", "internal/trace", "api"},
	"cmd":                   {"internal/model", "internal/version", "internal/plan", "internal/sim", "internal/explain", "internal/admission", "internal/controller", "internal/world", "internal/observe", "internal/act", "internal/upkeep", "internal/report", "internal/trace", "api"},
}

type listed struct {
	ImportPath string
	Dir        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps=false", "-json=ImportPath,Dir,Imports,Deps,GoFiles", "../../...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// area is the first two elements of a path inside the module, or the first for
// api and cmd.
func area(importPath string) string {
	path := strings.TrimPrefix(importPath, module)
	parts := strings.SplitN(path, "/", 3)
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func TestImportsGoDownwards(t *testing.T) {
	for _, p := range list(t) {
		from := area(p.ImportPath)
		allowed, known := mayImport[from]
		if from == "test" || from == "internal/architecture" {
			continue
		}
		if !known {
			t.Errorf("%s: area %q is not in the table of this test; add it where the design puts it", p.ImportPath, from)
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, module) {
				continue
			}
			if to := area(imported); to != from && !slices.Contains(allowed, to) && (to != "test" || !forTests(p.ImportPath)) {
				t.Errorf("%s imports %s: %s may not import %s", p.ImportPath, imported, from, to)
			}
			if strings.HasPrefix(imported, module+"lab") {
				t.Errorf("%s imports the laboratory", p.ImportPath)
			}
		}
	}
}

// forTests says whether a package is made for tests and no part of the product.
func forTests(importPath string) bool {
	return area(importPath) == "test" || strings.HasSuffix(importPath, "test")
}

// What is made for tests is imported by tests, and by what is made for them.
func TestTheProductImportsNothingMadeForTests(t *testing.T) {
	for _, p := range list(t) {
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, module) && forTests(imported) && !forTests(p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, imported)
			}
		}
	}
}

func TestPurePackagesReachNoIO(t *testing.T) {
	for _, p := range list(t) {
		if !slices.Contains(pure, area(p.ImportPath)) {
			continue
		}
		for _, dep := range p.Deps {
			for _, f := range forbidden {
				if dep == f || strings.HasPrefix(dep, f+"/") {
					t.Errorf("%s reaches %s", p.ImportPath, dep)
				}
			}
		}
	}
}

// The clock enters pure packages only as Snapshot.Now.
func TestPurePackagesHaveNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}
	for _, p := range list(t) {
		if !slices.Contains(pure, area(p.ImportPath)) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clock, call.Sel.Name) {
					t.Errorf("%s/%s uses time.%s", p.ImportPath, name, call.Sel.Name)
				}
				return true
			})
		}
	}
}
