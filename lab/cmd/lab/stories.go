package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/drover-project/drover/lab/internal/labclient"
	"github.com/drover-project/drover/lab/internal/story"
)

func storyCommands() []*cobra.Command {
	return []*cobra.Command{story.Command(startForStory), story.DemoCommand(startForStory)}
}

// storyLab is a lab that ends with the process that plays the story.
type storyLab struct{ *labclient.Lab }

// Down implements story.Lab. The story decides about the logs.
func (l storyLab) Down(ctx context.Context) error { return l.Lab.Down(ctx, true) }

func startForStory(ctx context.Context, dir string, setup story.Setup, say func(string)) (story.Lab, error) {
	provider := "drover"
	if setup.Nodes > 0 {
		provider = labclient.NoProvider
	}
	lab, err := labclient.Start(ctx, labclient.Options{
		Dir: dir, Provider: provider, ProviderLater: setup.ProviderLater, Nodes: setup.Nodes, Step: say, EndWithCaller: true,
	})
	if err != nil {
		return nil, err
	}
	return storyLab{lab}, nil
}
