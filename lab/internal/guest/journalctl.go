package guest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// journalctlMain shows a unit's log (-u NAME), or its last lines (-n NUMBER).
func journalctlMain(args []string) int {
	var name, count string
	eachOption(args, "un", []string{"unit", "lines"}, func(option, value string) {
		switch option {
		case "u", "unit":
			name = strings.TrimSuffix(value, ".service")
		case "n", "lines":
			count = value
		}
	})
	if name == "" {
		fmt.Fprintln(os.Stderr, "journalctl: a lab machine keeps logs of units only: name one with -u")
		return exitFailure
	}
	data, err := os.ReadFile(logFile(name))
	if err != nil {
		fmt.Println("-- No entries --")
		return 0
	}
	if n, err := strconv.Atoi(count); err == nil {
		data = lastLines(data, n)
	}
	if _, err := os.Stdout.Write(data); err != nil {
		return exitFailure
	}
	return 0
}

func lastLines(data []byte, n int) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return bytes.Join(lines[max(0, len(lines)-n):], nil)
}
