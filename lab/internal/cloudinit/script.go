package cloudinit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Command is one entry of runcmd as a line of shell script.
type Command string

// parseCommands turns entries into shell lines as cloud-init does: text is
// taken as it is, lists are quoted word by word, null is passed over.
func parseCommands(data json.RawMessage) ([]Command, error) {
	var entries []any
	if err := yaml.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("runcmd must be a list: %w", err)
	}
	var commands []Command
	for i, entry := range entries {
		switch entry := entry.(type) {
		case nil:
		case string:
			commands = append(commands, Command(entry))
		case []any:
			line, err := quoteWords(entry)
			if err != nil {
				return nil, fmt.Errorf("runcmd, entry %d: %w", i+1, err)
			}
			commands = append(commands, line)
		default:
			return nil, fmt.Errorf("runcmd, entry %d must be text or a list of words, not %T: quote it if it holds \": \"", i+1, entry)
		}
	}
	return commands, nil
}

func quoteWords(words []any) (Command, error) {
	quoted := make([]string, 0, len(words))
	for _, word := range words {
		var text string
		switch word := word.(type) {
		case string:
			text = word
		case float64:
			text = strconv.FormatFloat(word, 'f', -1, 64)
		default:
			return "", fmt.Errorf("a word of a list must be text or a number, not %T: quote it", word)
		}
		quoted = append(quoted, "'"+strings.ReplaceAll(text, "'", `'\''`)+"'")
	}
	return Command(strings.Join(quoted, " ")), nil
}

// Script joins commands to what cloud-init writes to scripts/runcmd. There is
// no "set -e": a failing line does not stop the next, and the exit code is
// that of the last one.
func Script(commands []Command) []byte {
	var script strings.Builder
	script.WriteString("#!/bin/sh\n")
	for _, command := range commands {
		script.WriteString(string(command))
		script.WriteString("\n")
	}
	return []byte(script.String())
}
