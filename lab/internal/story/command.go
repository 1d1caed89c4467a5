package story

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// Command is `lab story`: list the stories, or run some of them in laboratories that start makes.
func Command(start StartFunc) *cobra.Command {
	c := &cobra.Command{Use: "story", Short: "List or run the laboratory's stories"}
	c.AddCommand(listCommand(), runCommand(start))
	return c
}

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the stories with their purpose; short ones are those of `make test`", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tw := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range All() {
				short := ""
				if s.Short {
					short = "short"
				}
				_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\n", s.Name, short, s.Purpose)
			}
			return tw.Flush()
		},
	}
}

func runCommand(start StartFunc) *cobra.Command {
	var all, tables bool
	var html, results string
	c := &cobra.Command{
		Use: "run NAME...", Short: "Run stories, each in a laboratory of its own", SilenceUsage: true,
		RunE: func(cmd *cobra.Command, names []string) error {
			stories, err := chosen(all, names)
			if err != nil {
				return err
			}
			if html != "" && len(stories) != 1 {
				return fmt.Errorf("--html writes the page of one story, not of %d", len(stories))
			}
			return Play(cmd.Context(), stories, Options{Start: start, Out: cmd.OutOrStdout(), HTML: html, Results: results, Tables: tables})
		},
	}
	c.Flags().StringVar(&results, "results", "", "append the outcome of each story to this file, as a line of JSON")
	c.Flags().BoolVar(&all, "all", false, "run all stories")
	c.Flags().BoolVar(&tables, "timeline", false, "print the timeline as a table at the end")
	c.Flags().StringVar(&html, "html", "", "write the timeline of the story as one HTML page to this file")
	return c
}

func chosen(all bool, names []string) ([]Story, error) {
	switch {
	case all && len(names) > 0:
		return nil, fmt.Errorf("give either --all or names, not both")
	case all:
		return All(), nil
	case len(names) == 0:
		return nil, fmt.Errorf("name the stories to run, or give --all; `lab story list` shows them")
	}
	return Find(names...)
}

// DemoCommand is `lab demo`: founding-bug with live progress, a timeline at the end, and a page to keep.
func DemoCommand(start StartFunc) *cobra.Command {
	html := "drover-demo.html"
	c := &cobra.Command{
		Use: "demo", Short: "Show a safe rolling upgrade on real parts", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Play(cmd.Context(), []Story{foundingBug}, Options{Start: start, Out: cmd.OutOrStdout(), HTML: html, Tables: true})
		},
	}
	c.Flags().StringVar(&html, "html", html, "write the timeline as one HTML page to this file")
	return c
}
