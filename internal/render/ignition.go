package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	baseutil "github.com/coreos/butane/base/util"
	// The types marshal without empty structs only with this encoder, the one Ignition's own tools use.
	"github.com/clarketm/json"
	ignition "github.com/coreos/ignition/v2/config/v3_3"
	"github.com/coreos/ignition/v2/config/v3_3/types"
	"github.com/coreos/vcontext/report"
	"k8s.io/utils/ptr"

	bootstrapv1 "github.com/drover-project/drover/api/bootstrap/v1beta2"
)

// ignitionConfig returns the machine's bootstrap data as a config for Ignition, and warnings about the user's part of
// it. The files, the script and what the script leaves on the machine are those of the cloud-config.
//
// The version is 3.3 because that is what users' Butane configs were compiled to before, and what images read that
// are some years old. The result has passed Ignition's own validator: a config Ignition refuses leaves a machine in
// its initial RAM disk, where nobody sees why.
func ignitionConfig(in *Input) ([]byte, []string, error) {
	agent := &in.Config.AgentConfig
	if err := checkNoExpressions(agent); err != nil {
		return nil, nil, err
	}
	own, err := ownIgnition(in)
	if err != nil {
		return nil, nil, err
	}
	merged := *own
	users, warnings, err := userIgnition(&agent.AdditionalUserData)
	if err != nil {
		return nil, nil, err
	}
	if users != nil {
		if err := checkUserIgnition(own, users); err != nil {
			return nil, nil, err
		}
		merged = ignition.Merge(*users, *own)
	}
	if err := checkFolders(&merged); err != nil {
		return nil, nil, err
	}
	data, err := marshalIgnition(&merged)
	if err != nil {
		return nil, nil, err
	}
	if ptr.Deref(in.Config.GzipUserData, false) {
		data, err = wrapIgnition(data)
	}
	return data, warnings, err
}

// ownIgnition returns everything but the user's own config.
func ownIgnition(in *Input) (*types.Config, error) {
	files, err := machineFiles(in)
	if err != nil {
		return nil, err
	}
	config := &types.Config{Ignition: types.Ignition{Version: types.MaxVersion.String()}}
	config.Systemd.Units = append(config.Systemd.Units, bootstrapUnit())
	if ntp := in.Config.AgentConfig.NTP; ntp != nil && ntpEnabled(ntp) {
		clock, err := clockFiles(ntp)
		if err != nil {
			return nil, err
		}
		for _, f := range clock {
			if slices.ContainsFunc(files, func(other file) bool { return other.path == f.path }) {
				return nil, fmt.Errorf("files: %s is written because of agentConfig.ntp; take one of them out", f.path)
			}
		}
		files = append(files, clock...)
		config.Systemd.Units = append(config.Systemd.Units, types.Unit{Name: chronyUnit, Enabled: ptr.To(true)})
	}
	for i := range files {
		f, err := files[i].ignition()
		if err != nil {
			return nil, fmt.Errorf("files (%s): %w", files[i].path, err)
		}
		config.Storage.Files = append(config.Storage.Files, f)
	}
	return config, nil
}

// checkFolders refuses a file or link in the place of a folder that something else is written in. Ignition finds most
// of that only on the machine.
func checkFolders(config *types.Config) error {
	leaves := map[string]bool{}
	for i := range config.Storage.Files {
		leaves[config.Storage.Files[i].Path] = true
	}
	for i := range config.Storage.Links {
		leaves[config.Storage.Links[i].Path] = true
	}
	for _, node := range nodes(config) {
		for folder := path.Dir(node.Path); folder != "/" && folder != "."; folder = path.Dir(folder) {
			if leaves[folder] {
				return fmt.Errorf("files, or agentConfig.additionalUserData.config: %s has to be a folder, because %s is "+
					"written in it; take one of them out", folder, node.Path)
			}
		}
	}
	return nil
}

// nodes returns the files, folders and links of a config.
func nodes(config *types.Config) []types.Node {
	var list []types.Node
	for i := range config.Storage.Directories {
		list = append(list, config.Storage.Directories[i].Node)
	}
	for i := range config.Storage.Files {
		list = append(list, config.Storage.Files[i].Node)
	}
	for i := range config.Storage.Links {
		list = append(list, config.Storage.Links[i].Node)
	}
	return list
}

// marshalIgnition returns the JSON of a config that Ignition accepts.
func marshalIgnition(config *types.Config) ([]byte, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("marshal the Ignition config: %w", err)
	}
	if _, found, err := ignition.Parse(data); err != nil {
		return nil, fmt.Errorf("the bootstrap data are no valid Ignition config, look at files and "+
			"agentConfig.additionalUserData: %w", reported(found, err))
	}
	return data, nil
}

// wrapIgnition returns a config that has Ignition replace it by the given one, compressed. Ignition reads no config
// that is compressed as a whole.
func wrapIgnition(data []byte) ([]byte, error) {
	packed, err := compress(data)
	if err != nil {
		return nil, err
	}
	source, _, err := baseutil.MakeDataURL(packed, ptr.To("gzip"), false)
	if err != nil {
		return nil, fmt.Errorf("wrap the Ignition config: %w", err)
	}
	return marshalIgnition(&types.Config{Ignition: types.Ignition{
		Version: types.MaxVersion.String(),
		Config:  types.IgnitionConfig{Replace: types.Resource{Source: &source, Compression: ptr.To("gzip")}},
	}})
}

// checkNoExpressions refuses template expressions in the node's own settings: it is cloud-init that replaces them.
// Ignition would pass them on as they are, and no node comes up with such a name or label.
func checkNoExpressions(agent *bootstrapv1.RKE2AgentConfig) error {
	const reason = "an expression in {{ }} is replaced by cloud-init only and not with agentConfig.format: ignition"
	if strings.Contains(agent.NodeName, "{{") {
		return fmt.Errorf("agentConfig.nodeName: %s; take nodeName out, and nodes have the name of their host", reason)
	}
	settings := map[string][]string{"nodeLabels": agent.NodeLabels, "nodeTaints": agent.NodeTaints}
	if agent.Kubelet != nil {
		settings["kubelet.extraArgs"] = agent.Kubelet.ExtraArgs
	}
	for _, field := range sortedKeys(settings) {
		for i, value := range settings[field] {
			if strings.Contains(value, "{{") {
				return fmt.Errorf("agentConfig.%s[%d]: %s; give the value itself", field, i, reason)
			}
		}
	}
	return nil
}

// reported turns the findings of Ignition's or Butane's validator into an error. They name places and rules and do
// not repeat values.
func reported(found report.Report, err error) error {
	var list []string
	for _, entry := range found.Entries {
		if entry.Kind.IsFatal() {
			list = append(list, entry.String())
		}
	}
	if len(list) == 0 {
		return err
	}
	return errors.New(strings.Join(list, "; "))
}
