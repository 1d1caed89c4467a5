package ignition

import (
	"context"
	"fmt"
	"io"

	"github.com/drover-project/drover/lab/internal/userdata"
)

// Main works off the config file that args name, on the machine it runs on.
func Main(args []string) int {
	return userdata.Main("ignition", args, func(_ context.Context, data []byte, log io.Writer) error {
		return Run(data, "", log)
	})
}

// Run puts what the config asks for below root ("" on a machine): folders, files
// and links, then units. Nothing is done when the config cannot be read in full.
// Starting the units is up to the service manager.
func Run(data []byte, root string, log io.Writer) error {
	config, err := Parse(data)
	if err != nil {
		return err
	}
	say := func(text string) { _, _ = fmt.Fprintln(log, "ignition:", text) }
	for _, warning := range config.Warnings {
		say(warning)
	}
	for _, name := range config.Ignored {
		say(name + " has no effect on a lab machine")
	}
	entries := config.entries()
	if err := makeRoom(root, entries); err != nil {
		return err
	}
	for _, e := range entries {
		note, err := e.write(root)
		if err != nil {
			return err
		}
		if note != "" {
			say(note)
		}
	}
	return writeUnits(root, config.Units)
}
