// Package kubelet holds the settings that the real kubelet needs on a lab
// machine, whoever starts it.
package kubelet

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"k8s.io/utils/ptr"
)

// How often the kubelet looks at its pods. RKE2 sets 5 s for files and 30 s for
// all others; the lab looks more often, so that nobody waits for it long.
const (
	fileCheck = 2 * time.Second
	syncEvery = 2 * time.Second
)

// Paths are the files that a kubelet's settings name.
type Paths struct {
	// ClientCA verifies those who call the kubelet's API.
	ClientCA string
	// RuntimeSocket is the container runtime's unix socket.
	RuntimeSocket string
}

// Settings turn off what a machine without cgroups of its own can't have, and
// leave the rest at the kubelet's defaults.
func Settings(paths Paths) kubeletconfig.KubeletConfiguration {
	c := kubeletconfig.KubeletConfiguration{
		TypeMeta:           metav1.TypeMeta{APIVersion: kubeletconfig.SchemeGroupVersion.String(), Kind: "KubeletConfiguration"},
		Address:            "0.0.0.0",
		HealthzBindAddress: "127.0.0.1",
		Authentication: kubeletconfig.KubeletAuthentication{
			Anonymous: kubeletconfig.KubeletAnonymousAuthentication{Enabled: ptr.To(false)},
			Webhook:   kubeletconfig.KubeletWebhookAuthentication{Enabled: ptr.To(true)},
			X509:      kubeletconfig.KubeletX509Authentication{ClientCAFile: paths.ClientCA},
		},
		Authorization:            kubeletconfig.KubeletAuthorization{Mode: kubeletconfig.KubeletAuthorizationModeWebhook},
		ContainerRuntimeEndpoint: "unix://" + paths.RuntimeSocket,
		PodLogsDir:               "/var/log/pods",
		VolumePluginDir:          "/var/lib/kubelet/volumeplugins",

		CgroupsPerQOS:                 ptr.To(false),
		EnforceNodeAllocatable:        []string{"none"},
		FailCgroupV1:                  ptr.To(false),
		FailSwapOn:                    ptr.To(false),
		MakeIPTablesUtilChains:        ptr.To(false),
		LocalStorageCapacityIsolation: ptr.To(false),
		ResolverConfig:                ptr.To(""),
		ImageGCHighThresholdPercent:   ptr.To(int32(100)),
		EvictionHard:                  map[string]string{"memory.available": "0%", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%", "imagefs.inodesFree": "0%"},
		FeatureGates:                  map[string]bool{"KubeletInUserNamespace": true},
	}
	c.FileCheckFrequency.Duration = fileCheck
	c.SyncFrequency.Duration = syncEvery
	return c
}

// Folders are those that a kubelet with these settings expects.
var Folders = []string{"/var/log/pods", "/var/log/containers", "/var/lib/kubelet"}
