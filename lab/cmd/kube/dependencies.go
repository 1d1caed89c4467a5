package main

import (
	"context"
	"fmt"

	cadvisor "github.com/google/cadvisor/info/v1"
	cadvisorv2 "github.com/google/cadvisor/info/v2"
	"go.opentelemetry.io/otel/trace/noop"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/emptydir"
	"k8s.io/kubernetes/pkg/volume/hostpath"
	"k8s.io/kubernetes/pkg/volume/projected"
	"k8s.io/kubernetes/pkg/volume/secret"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
	"k8s.io/utils/ptr"
)

// What every machine says it has. The scheduler counts with it; nothing is limited.
const (
	cpus   = 4
	memory = 8 << 30 // bytes
	disk   = 100 << 30
	inodes = 10 << 20
)

// dependencies are what the kubelet rests on. Faked is what needs cgroups, or
// makes mounts: a volume is a plain folder, which the container runtime mounts
// into containers.
func dependencies(ctx context.Context, server *options.KubeletServer) (*kubelet.Dependencies, error) {
	tls, err := kubeletapp.InitializeTLS(ctx, &server.KubeletFlags, &server.KubeletConfiguration)
	if err != nil {
		return nil, fmt.Errorf("certificates of the kubelet's API: %w", err)
	}
	return &kubelet.Dependencies{
		CAdvisorInterface: &machine{Fake: cadvisortest.Fake{NodeName: server.HostnameOverride}},
		ContainerManager:  cm.NewStubContainerManager(),
		HostUtil:          hostUtil{hostutil.NewHostUtil()},
		Mounter:           mount.NewFakeMounter(nil),
		OOMAdjuster:       oom.NewFakeOOMAdjuster(),
		OSInterface:       kubecontainer.RealOS{},
		Subpather:         &subpath.FakeSubpath{},
		TLSOptions:        tls,
		TracerProvider:    noop.NewTracerProvider(),
		VolumePlugins:     volumePlugins(),
	}, nil
}

// volumePlugins are the kinds of volumes that need no storage.
func volumePlugins() []volume.VolumePlugin {
	var plugins []volume.VolumePlugin
	plugins = append(plugins, configmap.ProbeVolumePlugins()...)
	plugins = append(plugins, downwardapi.ProbeVolumePlugins()...)
	plugins = append(plugins, emptydir.ProbeVolumePlugins()...)
	plugins = append(plugins, hostpath.ProbeVolumePlugins(volume.VolumeConfig{})...)
	plugins = append(plugins, projected.ProbeVolumePlugins()...)
	plugins = append(plugins, secret.ProbeVolumePlugins()...)
	return plugins
}

// hostUtil looks at files, but changes no mounts.
type hostUtil struct{ *hostutil.HostUtil }

// MakeRShared would mount the kubelet's folder onto itself, which no pod here needs.
func (hostUtil) MakeRShared(string) error { return nil }

// machine answers for cAdvisor, which measures cgroups.
type machine struct{ cadvisortest.Fake }

// MachineInfo describes the same machine everywhere; only its ids differ.
func (m *machine) MachineInfo() (*cadvisor.MachineInfo, error) {
	return &cadvisor.MachineInfo{
		NumCores:       cpus,
		MemoryCapacity: memory,
		MachineID:      "lab" + m.NodeName,
		SystemUUID:     "lab-" + m.NodeName,
		// The same for each start of the kubelet: a machine never boots again.
		BootID: "lab-" + m.NodeName,
	}, nil
}

// ImagesFsInfo describes a disk that never fills up.
func (m *machine) ImagesFsInfo(context.Context) (cadvisorv2.FsInfo, error) {
	return cadvisorv2.FsInfo{
		Capacity: disk, Available: disk / 10 * 9, Usage: disk / 10,
		Inodes: ptr.To(uint64(inodes)), InodesFree: ptr.To(uint64(inodes / 10 * 9)),
	}, nil
}

// RootFsInfo describes the same disk.
func (m *machine) RootFsInfo() (cadvisorv2.FsInfo, error) {
	return m.ImagesFsInfo(context.Background())
}
