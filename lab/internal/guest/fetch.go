package guest

import (
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/drover-project/drover/lab/internal/paths"
)

//go:embed install.sh
var installScript string

// installHost is where RKE2's install script is published.
const installHost = "get.rke2.io"

// Exit codes of curl and wget.
const (
	curlNoURL      = 2
	curlWriteError = 23
	curlHTTPError  = 22
	wgetIOError    = 3
	wgetHTTPError  = 8
)

// download is what a call of curl or wget comes down to.
type download struct {
	url    string
	output string // a file, or "" for standard output
	fail   bool   // an HTTP error makes the command fail
	silent bool
}

// curlMain answers for the install script, passes addresses of the lab's own
// network to the computer's curl, and knows nothing else: a lab has no way out.
func curlMain(args []string) int {
	d := parseCurl(args)
	if d.url == "" {
		fmt.Fprintln(os.Stderr, "curl: (2) no URL specified")
		return curlNoURL
	}
	if isLocal(d.url) {
		return delegate("curl", args)
	}
	body, found := content(d.url)
	if !found && d.fail {
		if !d.silent {
			fmt.Fprintln(os.Stderr, "curl: (22) The requested URL returned error: 404")
		}
		return curlHTTPError
	}
	if err := d.write(body); err != nil {
		fmt.Fprintf(os.Stderr, "curl: (23) %v\n", err)
		return curlWriteError
	}
	return 0
}

func wgetMain(args []string) int {
	d := parseWget(args)
	if isLocal(d.url) {
		return delegate("wget", args)
	}
	body, found := content(d.url)
	if !found {
		fmt.Fprintf(os.Stderr, "%s: ERROR 404: Not Found.\n", d.url)
		return wgetHTTPError
	}
	if err := d.write(body); err != nil {
		fmt.Fprintln(os.Stderr, "wget:", err)
		return wgetIOError
	}
	return 0
}

func (d download) write(body string) error {
	if d.output == "" {
		_, err := io.WriteString(os.Stdout, body)
		return err
	}
	if d.output == os.DevNull {
		return nil
	}
	return os.WriteFile(d.output, []byte(body), 0o644)
}

// content returns the only page there is, or a server's words for its absence.
func content(address string) (body string, found bool) {
	u, err := url.Parse(withScheme(address))
	if err == nil && u.Host == installHost && strings.Trim(u.Path, "/") == "" {
		return installScript, true
	}
	return "404: Not Found\n", false
}

func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	return "http://" + address
}

// isLocal tells whether an address can exist in a lab: there are no host names.
func isLocal(address string) bool {
	u, err := url.Parse(withScheme(address))
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil)
}

// delegate replaces this process by the computer's own program of that name.
func delegate(name string, args []string) int {
	for dir := range strings.SplitSeq(paths.SearchPath, ":") {
		if dir == paths.AppletDir {
			continue
		}
		file := filepath.Join(dir, name)
		if _, err := exec.LookPath(file); err == nil {
			err = syscall.Exec(file, append([]string{name}, args...), os.Environ())
			fmt.Fprintf(os.Stderr, "%s: %v\n", file, err)
			return exitFailure
		}
	}
	fmt.Fprintf(os.Stderr, "%s: this computer has no %s to reach lab addresses with\n", name, name)
	return exitFailure
}

// Options of curl and wget that are followed by a value.
var (
	curlShortValues = "AbcCdDeEFHKmoPQrtTuUwxXyYz"
	curlLongValues  = []string{"cacert", "cert", "connect-timeout", "data", "header", "key", "max-time", "output", "proxy", "request", "retry", "retry-delay", "retry-max-time", "user", "user-agent", "write-out"}
	wgetShortValues = "OotTwP"
	wgetLongValues  = []string{"output-document", "output-file", "tries", "timeout", "header"}
)

func parseCurl(args []string) download {
	var d download
	var showErrors bool
	eachOption(args, curlShortValues, curlLongValues, func(option, value string) {
		switch option {
		case "":
			d.url = value
		case "o", "output":
			d.output = value
		case "O", "remote-name":
			d.output = "\x00"
		case "f", "fail", "fail-with-body":
			d.fail = true
		case "s", "silent":
			d.silent = true
		case "S", "show-error":
			showErrors = true
		}
	})
	// -S wins over -s, wherever it stands.
	d.silent = d.silent && !showErrors
	return d.finish()
}

func parseWget(args []string) download {
	d := download{output: "\x00"}
	eachOption(args, wgetShortValues, wgetLongValues, func(option, value string) {
		switch option {
		case "":
			d.url = value
		case "O", "output-document":
			d.output = value
		}
	})
	return d.finish()
}

// finish settles the names of the output: "-" is standard output, and NUL
// stands for the last part of the URL.
func (d download) finish() download {
	switch d.output {
	case "-":
		d.output = ""
	case "\x00":
		d.output = "index.html"
		if u, err := url.Parse(withScheme(d.url)); err == nil && strings.Trim(u.Path, "/") != "" {
			d.output = path.Base(u.Path)
		}
	}
	return d
}

// eachOption calls yield for every option with its value, and with an empty
// option for every other argument. Short options may stand together (-sfLo file).
func eachOption(args []string, shortValues string, longValues []string, yield func(option, value string)) {
	for i := 0; i < len(args); i++ {
		next := func() string {
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return ""
		}
		arg := args[i]
		if long, ok := strings.CutPrefix(arg, "--"); ok {
			name, value, given := strings.Cut(long, "=")
			if !given && slices.Contains(longValues, name) {
				value = next()
			}
			yield(name, value)
			continue
		}
		if len(arg) < 2 || arg[0] != '-' {
			yield("", arg)
			continue
		}
		for j := 1; j < len(arg); j++ {
			if !strings.Contains(shortValues, arg[j:j+1]) {
				yield(arg[j:j+1], "")
				continue
			}
			value := arg[j+1:]
			if value == "" {
				value = next()
			}
			yield(arg[j:j+1], value)
			break
		}
	}
}
