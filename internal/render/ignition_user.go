package render

import (
	"errors"
	"fmt"
	"path"
	"strings"

	butane "github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	ignitionerrors "github.com/coreos/ignition/v2/config/shared/errors"
	ignition "github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/coreos/vcontext/report"
	"sigs.k8s.io/yaml"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

const userConfigField = "agentConfig.additionalUserData.config"

// userIgnition returns the user's own config, nil when there is none. It may be Butane, of each variant and version
// that compiles to Ignition 3.3 or earlier, or Ignition's JSON of such a version. Butane's local files are refused:
// they would be the provider's. With strict every finding is an error, else those that are not fatal come back as
// warnings.
func userIgnition(extra *bootstrapv1.AdditionalUserData) (*types.Config, []string, error) {
	var warnings []string
	if len(extra.Data) > 0 {
		warnings = append(warnings, "agentConfig.additionalUserData.data has no effect with format ignition: use config")
	}
	if strings.TrimSpace(extra.Config) == "" {
		return nil, warnings, nil
	}
	data, found, err := compileButane(extra.Config)
	if err != nil {
		return nil, nil, err
	}
	config, inJSON, err := ignition.ParseCompatibleVersion(data)
	if errors.Is(err, ignitionerrors.ErrUnknownVersion) {
		return nil, nil, fmt.Errorf("%s is of a version of Ignition other than 3.0 to %s: use one of these, or in Butane "+
			"variant: fcos with version: 1.4.0, variant: flatcar with version: 1.0.0", userConfigField, types.MaxVersion)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", userConfigField, reported(inJSON, err))
	}
	found.Merge(inJSON)
	for _, entry := range found.Entries {
		if extra.Strict {
			return nil, nil, fmt.Errorf("%s: %s (refused because of strict)", userConfigField, entry)
		}
		warnings = append(warnings, fmt.Sprintf("%s: %s", userConfigField, entry))
	}
	return &config, warnings, nil
}

// compileButane returns the Ignition JSON of a Butane config; Ignition JSON it returns as it is.
func compileButane(text string) ([]byte, report.Report, error) {
	var kind struct {
		Variant  string         `json:"variant"`
		Ignition map[string]any `json:"ignition"`
	}
	if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
		// The text may hold secrets, and the error may repeat it.
		return nil, report.Report{}, fmt.Errorf("%s is neither the YAML of Butane nor the JSON of Ignition", userConfigField)
	}
	if kind.Variant == "" && kind.Ignition != nil {
		return []byte(text), report.Report{}, nil
	}
	if kind.Variant == "" {
		return nil, report.Report{}, fmt.Errorf("%s has no variant, which a Butane config needs, such as variant: fcos "+
			"with version: 1.4.0", userConfigField)
	}
	data, found, err := butane.TranslateBytes([]byte(text), common.TranslateBytesOptions{Raw: true})
	var unknown common.ErrUnknownVersion
	switch {
	case err == nil:
		return data, found, nil
	case len(found.Entries) > 0, errors.As(err, &unknown), errors.Is(err, common.ErrInvalidVersion),
		errors.Is(err, common.ErrRhcosVariantUnsupported):
		return nil, found, fmt.Errorf("%s: %w", userConfigField, reported(found, err))
	default:
		return nil, found, fmt.Errorf("%s: a value has a type that Butane does not expect there", userConfigField)
	}
}

// checkUserIgnition refuses what the merge would settle in silence. The rules are:
//   - What files and the provider write, and the unit that runs the script, are theirs. A user's config that has the
//     same path, as a file, a folder, a link, a unit or a drop-in, is refused. Drop-ins for the unit are welcome.
//   - A config that replaces the whole is refused. Configs to merge are fetched by the machine; what they
//     overwrite is not known here.
//   - All else of the user's is kept as it is. Where both say something of the same thing (chronyd.service with
//     agentConfig.ntp), the provider's value counts.
func checkUserIgnition(own, users *types.Config) error {
	if source := users.Ignition.Config.Replace.Source; source != nil && *source != "" {
		return fmt.Errorf("%s: ignition.config.replace would replace the bootstrap data too; use ignition.config.merge",
			userConfigField)
	}
	taken := map[string]bool{path.Join(unitDir, unitName): true}
	for i := range own.Storage.Files {
		taken[own.Storage.Files[i].Path] = true
	}
	for _, p := range unitPaths(users.Systemd.Units) {
		if taken[p] {
			return takenError(p)
		}
	}
	for _, node := range nodes(users) {
		if taken[node.Path] {
			return takenError(node.Path)
		}
	}
	return nil
}

// unitPaths returns the files that units become.
func unitPaths(units []types.Unit) []string {
	var paths []string
	for _, unit := range units {
		if unit.Contents != nil || unit.Mask != nil || unit.Enabled != nil {
			paths = append(paths, path.Join(unitDir, unit.Name))
		}
		for _, dropin := range unit.Dropins {
			paths = append(paths, path.Join(unitDir, unit.Name+".d", dropin.Name))
		}
	}
	return paths
}

func takenError(path string) error {
	return fmt.Errorf("%s: %s is written by the provider itself or by files; take it out of one of them",
		userConfigField, path)
}
