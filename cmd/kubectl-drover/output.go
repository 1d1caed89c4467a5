package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/drover-project/drover/internal/model"
)

// output is how a result is printed.
type output struct{ format string }

func (o *output) add(flags *pflag.FlagSet) {
	flags.StringVarP(&o.format, "output", "o", "", `"json" for scripts, otherwise text`)
}

func (o *output) check() error {
	if o.format != "" && o.format != "json" {
		return fmt.Errorf(`--output %s: choose "json" or leave it out`, o.format)
	}
	return nil
}

// write prints a result, as JSON or as its text.
func (o *output) write(w io.Writer, result interface{ Text() string }) error {
	text := result.Text()
	if o.format == "json" {
		encoded, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return fmt.Errorf("write as JSON: %w", err)
		}
		text = string(encoded) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// lacking adds to an error the permissions that were missing on the way.
func lacking(err error, denied []model.Denied) error {
	if err == nil || len(denied) == 0 {
		return err
	}
	lines := make([]string, 0, len(denied))
	for _, d := range denied {
		lines = append(lines, fmt.Sprintf("not permitted: %s %s in %s; an RBAC rule that is enough: %s", d.Verb, d.Resource, d.Where(), d.Rule()))
	}
	return errors.Join(err, errors.New(strings.Join(lines, "\n")))
}
