package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxSize is the largest bootstrap data, in bytes, that fit into a Secret. Infrastructure may allow less.
const MaxSize = 1 << 20

// Limit is how large bootstrap data may be for the infrastructure that hands them to the machine.
type Limit struct {
	// Bytes they may have compressed; 0 is no limit.
	Bytes int
	// Reason says, after "because", where the limit comes from, for messages.
	Reason string
}

// largestParts is how many parts a message about the size names.
const largestParts = 3

// checkSize refuses data that the Secret does not hold or that the infrastructure would refuse later, where nobody sees
// why. What counts for the infrastructure is the compressed size: it compresses itself, or the user has them compressed.
func checkSize(in *Input, data []byte) error {
	if len(data) > MaxSize {
		return fmt.Errorf("the bootstrap data have %d bytes, %d are possible: set gzipUserData, or take large content out of "+
			"files; the largest parts are %s", len(data), MaxSize, parts(in))
	}
	if in.Limit.Bytes == 0 || len(data) <= in.Limit.Bytes {
		return nil
	}
	packed, err := compress(data)
	if err != nil {
		return err
	}
	size := min(len(data), len(packed))
	if size <= in.Limit.Bytes {
		return nil
	}
	return fmt.Errorf("the bootstrap data have %d bytes (compressed: %d), and %d are possible because %s: take large "+
		"content out of files, or have it on the machine image; the largest parts are %s",
		len(data), size, in.Limit.Bytes, in.Limit.Reason, parts(in))
}

// parts names the largest parts of the data with the bytes they have, the largest first.
func parts(in *Input) string {
	type part struct {
		name string
		size int
	}
	extra := &in.Config.AgentConfig.AdditionalUserData
	all := []part{{"additionalUserData.config", len(extra.Config)}}
	for _, key := range sortedKeys(extra.Data) {
		all = append(all, part{"additionalUserData.data[" + key + "]", len(extra.Data[key])})
	}
	// That the files can be made is known here.
	files, err := machineFiles(in)
	if err != nil {
		return err.Error()
	}
	for i := range files {
		all = append(all, part{files[i].path, len(files[i].content)})
	}
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(b.size, a.size) })
	var names []string
	for _, p := range all[:min(largestParts, len(all))] {
		names = append(names, fmt.Sprintf("%s (%d)", p.name, p.size))
	}
	return strings.Join(names, ", ")
}
