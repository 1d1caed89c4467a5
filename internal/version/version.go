package version

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is one RKE2 release. The zero value is no release; see IsZero. Versions made by Parse can be compared
// with ==.
type Version struct {
	// Major, Minor and Patch are the Kubernetes version inside the release.
	Major, Minor, Patch int
	// Pre is the pre-release part without its hyphen, for example "rc1". It is empty for a proper release.
	Pre string
	// Release is the N of the rke2rN part.
	Release int
}

// maxDigits bounds every number of a release name, so that none overflows an int.
const maxDigits = 9

// Parse reads a release name of the form vX.Y.Z[-pre]+rke2rN. The leading v is required, as RKE2's install script
// requires it. The error repeats the name and tells the form that is expected.
func Parse(s string) (Version, error) {
	v, ok := parse(s)
	if !ok {
		return Version{}, fmt.Errorf("%q is not an RKE2 version: expected vX.Y.Z+rke2rN, for example v1.36.3+rke2r1", s)
	}
	return v, nil
}

func parse(s string) (Version, bool) {
	rest, ok := strings.CutPrefix(s, "v")
	if !ok {
		return Version{}, false
	}
	rest, build, ok := strings.Cut(rest, "+")
	if !ok {
		return Version{}, false
	}
	core, pre, hasPre := strings.Cut(rest, "-")
	if hasPre && !validPre(pre) {
		return Version{}, false
	}
	parts := strings.Split(core, ".")
	if len(parts) != 3 {
		return Version{}, false
	}
	var numbers [3]int
	for i, part := range parts {
		if numbers[i], ok = number(part); !ok {
			return Version{}, false
		}
	}
	digits, ok := strings.CutPrefix(build, "rke2r")
	if !ok {
		return Version{}, false
	}
	release, ok := number(digits)
	if !ok {
		return Version{}, false
	}
	return Version{Major: numbers[0], Minor: numbers[1], Patch: numbers[2], Pre: pre, Release: release}, true
}

// number reads a decimal number without sign or leading zeros.
func number(s string) (int, bool) {
	if s == "" || len(s) > maxDigits || (len(s) > 1 && s[0] == '0') || !allDigits(s) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func allDigits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// validPre tells whether s is a pre-release of semantic versioning: identifiers of letters, digits and hyphens,
// joined by dots, numeric ones without leading zeros.
func validPre(s string) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || strings.IndexFunc(id, notInIdentifier) >= 0 {
			return false
		}
		if allDigits(id) && len(id) > 1 && id[0] == '0' {
			return false
		}
	}
	return true
}

func notInIdentifier(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	digit := r >= '0' && r <= '9'
	return !letter && !digit && r != '-'
}

// IsZero tells whether v is the zero Version, which is no release.
func (v Version) IsZero() bool {
	return v == Version{}
}

// String returns the release name, in the form Parse reads.
func (v Version) String() string {
	return fmt.Sprintf("%s+rke2r%d", v.Kubernetes(), v.Release)
}

// Kubernetes returns the Kubernetes version inside the release, for example v1.36.3.
func (v Version) Kubernetes() string {
	s := fmt.Sprintf("v%d.%d.%d", v.Major, v.Minor, v.Patch)
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	return s
}

// Compare returns -1, 0 or +1 as v is an earlier release than o, the same, or a later one. A pre-release comes before
// its release, and rke2rN counts as a number.
func (v Version) Compare(o Version) int {
	return cmp.Or(
		cmp.Compare(v.Major, o.Major),
		cmp.Compare(v.Minor, o.Minor),
		cmp.Compare(v.Patch, o.Patch),
		comparePre(v.Pre, o.Pre),
		cmp.Compare(v.Release, o.Release),
	)
}

// comparePre orders pre-releases by the rules of semantic versioning, with one addition: where two identifiers share
// a prefix of letters, the digits after it count as a number, so that rc2 comes before rc10.
func comparePre(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if c := compareIdentifier(as[i], bs[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func compareIdentifier(a, b string) int {
	aWord, aDigits := splitDigits(a)
	bWord, bDigits := splitDigits(b)
	if aWord != bWord || aDigits == "" || bDigits == "" {
		// A purely numeric identifier has the empty word, which sorts first as semantic versioning asks.
		return cmp.Or(cmp.Compare(aWord, bWord), cmp.Compare(aDigits, bDigits))
	}
	aNumber, bNumber := strings.TrimLeft(aDigits, "0"), strings.TrimLeft(bDigits, "0")
	return cmp.Or(
		cmp.Compare(len(aNumber), len(bNumber)),
		cmp.Compare(aNumber, bNumber),
		cmp.Compare(aDigits, bDigits),
	)
}

// splitDigits cuts the digits off the end of an identifier.
func splitDigits(s string) (word, digits string) {
	word = strings.TrimRight(s, "0123456789")
	return word, s[len(word):]
}
