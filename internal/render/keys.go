package render

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/drover-project/drover/internal/version"
)

// keyKind is what values a key of config.yaml takes.
type keyKind int

const (
	textKey keyKind = iota + 1
	flagKey
	numberKey
	durationKey
	listKey
)

// String says what the values are, for messages.
func (k keyKind) String() string {
	switch k {
	case textKey:
		return "a text"
	case flagKey:
		return "true or false"
	case numberKey:
		return "a whole number"
	case durationKey:
		return "a duration like 10m"
	case listKey:
		return "a list of texts"
	default:
		return "nothing"
	}
}

// key is what RKE2 knows about one key of config.yaml.
type key struct {
	kind keyKind
	// serversOnly keys are none of an agent's.
	serversOnly bool
	// since has the first patch release that knows the key, by minor release. Empty: all do. Minor releases before the
	// first one listed do not know the key, those after the last one do.
	since []release
	// until is the first minor release that does not know the key any more; 0 when all do.
	until int
}

// release is the first patch release of a minor one.
type release struct{ minor, patch int }

// The releases the table of keys was made for.
const (
	firstMinor = 31
	lastMinor  = 36
)

// tableCovers tells whether the table speaks for a release. Nothing is known to be wrong about any other.
func tableCovers(v version.Version) bool {
	return v.Major == 1 && v.Minor >= firstMinor && v.Minor <= lastMinor
}

// checkSettings makes sure that RKE2 will understand what is about to be written. RKE2 passes over a key it does not
// know with a line in its log, so a misfit would show much later, if at all.
func checkSettings(in *Input, s settings) error {
	if err := checkProfile(in); err != nil {
		return err
	}
	if dir := in.Config.AgentConfig.DataDir; dir != "" && !path.IsAbs(dir) {
		return fmt.Errorf("agentConfig.dataDir: %q is not absolute; give the whole path of a folder", dir)
	}
	if !tableCovers(in.Version) {
		return nil
	}
	for _, name := range sortedKeys(s) {
		if err := checkKey(in.Role, in.Version, name, s[name]); err != nil {
			return fmt.Errorf("%s: %w", sourceOf(name), err)
		}
	}
	return nil
}

// checkKey judges one key. The values of text keys never reach the message: they may be secrets.
func checkKey(role Role, v version.Version, name string, value any) error {
	known, ok := keyTable[name]
	if !ok || known.until != 0 && v.Minor >= known.until {
		return fmt.Errorf("RKE2 %s does not know the key %s of config.yaml; take the field out", v, name)
	}
	if first, ok := known.startsAt(v); !ok {
		return fmt.Errorf("RKE2 %s does not know the key %s of config.yaml yet; take the field out, or use %s or later",
			v, name, first)
	}
	if known.serversOnly && role == Worker {
		return fmt.Errorf("the key %s of config.yaml is for servers only; take the field out of the worker's config", name)
	}
	if !known.kind.fits(value) {
		if given, ok := value.(string); ok && (known.kind == numberKey || known.kind == durationKey) {
			return fmt.Errorf("the key %s of config.yaml takes %s, and %q is none; correct the field", name, known.kind, given)
		}
		return fmt.Errorf("the key %s of config.yaml takes %s, not a value of type %T; correct the field",
			name, known.kind, value)
	}
	return nil
}

// startsAt tells whether a release knows the key, and else the first one that does.
func (k key) startsAt(v version.Version) (string, bool) {
	for i, r := range k.since {
		if v.Minor > r.minor && i+1 < len(k.since) {
			continue
		}
		if v.Minor > r.minor || v.Minor == r.minor && v.Patch >= r.patch {
			return "", true
		}
		return fmt.Sprintf("v1.%d.%d", r.minor, r.patch), false
	}
	return "", true
}

// fits tells whether RKE2 can read the value. Numbers and durations may come as texts, and one text stands for a list
// of it or, between commas, for several.
func (k keyKind) fits(value any) bool {
	switch v := value.(type) {
	case bool:
		return k == flagKey
	case int:
		return k == numberKey
	case []string:
		return k == listKey
	case string:
		switch k {
		case textKey, listKey:
			return true
		case numberKey:
			_, err := strconv.Atoi(v)
			return err == nil
		case durationKey:
			_, err := time.ParseDuration(v)
			return err == nil
		default:
			return false
		}
	}
	return false
}

// sourceOf names the API field, or what else, a key is made from.
func sourceOf(name string) string {
	for _, f := range append(Fields(), OtherSources()...) {
		if slices.Contains(f.Keys, name) {
			return f.Path
		}
	}
	return configPath
}
