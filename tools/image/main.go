// Command image builds the container image of the manager for several
// platforms and writes it to disk as an OCI image layout. It needs no container
// runtime, and the same source gives the same bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// limit ends a build that hangs; a first build compiles everything twice.
const limit = 2 * time.Hour

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	source := flags.String("source", ".", "folder of the Go module, with its LICENSE")
	target := flags.String("package", "./cmd/drover", "package to build")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "comma separated platforms")
	out := flags.String("out", "", "folder to write the layout to; what is there is replaced")
	name := flags.String("name", "", "full name of the image, with its tag")
	epoch := flags.Int64("epoch", 0, "time stamp of everything, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *out == "" || *name == "" {
		return errors.New("--out and --name are needed")
	}
	tag := strings.LastIndex(*name, ":")
	if tag < 0 || strings.Contains((*name)[tag:], "/") {
		return fmt.Errorf("--name %q has no tag: write it as registry/repository:tag", *name)
	}
	b := build{Source: *source, Package: *target, Created: time.Unix(*epoch, 0).UTC(), Name: *name, Version: (*name)[tag+1:]}
	digest, err := b.run(ctx, strings.Split(*platforms, ","), filepath.Clean(*out))
	if err != nil {
		return err
	}
	fmt.Printf("%s@%s\n", *name, digest)
	return nil
}
