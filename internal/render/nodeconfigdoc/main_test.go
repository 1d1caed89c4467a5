package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsUpToDate(t *testing.T) {
	have, err := os.ReadFile("../../../docs/reference/node-config.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(), string(have)); diff != "" {
		t.Errorf("docs/reference/node-config.md is not what the rows say; run make generate:\n%s", diff)
	}
}
