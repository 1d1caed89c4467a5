package cri

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// root is a file system of a container's own. It is in memory and holds what
// the image and the pod's volumes bring, a few devices, and /proc.
type root struct {
	// Dir is an empty folder of the machine to make it on.
	Dir string `json:"dir"`
	// ReadOnly leaves only the volumes writable.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// surroundings are what every image's containers see of the machine.
var surroundings = []string{
	"/proc", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/etc/hosts", "/etc/resolv.conf",
}

// mounts are what an image's containers see before the pod's volumes come.
func (i *Image) mounts() []mount {
	var mounts []mount
	for _, path := range surroundings {
		mounts = append(mounts, mount{Source: path, Target: path})
	}
	for _, path := range slices.Sorted(maps.Keys(i.Files)) {
		mounts = append(mounts, mount{Source: i.Files[path], Target: path, ReadOnly: true})
	}
	return mounts
}

// enter makes the file system and leaves this process in it. Afterwards nothing
// of the machine can be reached except through the mounts.
func (r root) enter(mounts []mount) error {
	if err := unix.Mount("tmpfs", r.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("make root file system: %w", err)
	}
	tmp := filepath.Join(r.Dir, "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return fmt.Errorf("make root file system: %w", err)
	}
	if err := os.Chmod(tmp, 0o777|os.ModeSticky); err != nil {
		return fmt.Errorf("make root file system: %w", err)
	}
	// A mount hides what was mounted below it before, so outer ones come first.
	ordered := slices.Clone(mounts)
	slices.SortStableFunc(ordered, func(a, b mount) int { return strings.Compare(a.Target, b.Target) })
	for _, m := range ordered {
		m.Target = filepath.Join(r.Dir, m.Target)
		if err := m.mount(); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Source, m.Target, err)
		}
	}
	if r.ReadOnly {
		if err := unix.MountSetattr(unix.AT_FDCWD, r.Dir, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make root file system read-only: %w", err)
		}
	}
	return pivot(r.Dir)
}

// pivot makes dir the root of this mount namespace and drops the old one.
func pivot(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("enter root file system: %w", err)
	}
	// The old root comes to lie on the new one, from where it is taken away.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root file system: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("drop the machine's file system: %w", err)
	}
	return os.Chdir("/")
}

// user says as whom a container's processes run.
type user struct {
	UID    int   `json:"uid"`
	GID    int   `json:"gid"`
	Groups []int `json:"groups,omitempty"`
	// NoNewPrivileges keeps programs from gaining any.
	NoNewPrivileges bool `json:"noNewPrivileges,omitempty"`
}

// userOf reads a pod's security context; an image's containers are not root
// unless it says so.
func userOf(config *runtimeapi.ContainerConfig) *user {
	security := config.GetLinux().GetSecurityContext()
	u := &user{UID: nonRoot, GID: nonRoot, NoNewPrivileges: security.GetNoNewPrivs()}
	if id := security.GetRunAsUser(); id != nil {
		u.UID = int(id.GetValue())
	}
	if id := security.GetRunAsGroup(); id != nil {
		u.GID = int(id.GetValue())
	}
	for _, group := range security.GetSupplementalGroups() {
		u.Groups = append(u.Groups, int(group))
	}
	return u
}

// become gives up being root. With the user go its capabilities.
func (u user) become() error {
	if u.NoNewPrivileges {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("give up new privileges: %w", err)
		}
	}
	if err := unix.Setgroups(u.Groups); err != nil {
		return fmt.Errorf("set groups: %w", err)
	}
	if err := unix.Setgid(u.GID); err != nil {
		return fmt.Errorf("become group %d: %w", u.GID, err)
	}
	if err := unix.Setuid(u.UID); err != nil {
		return fmt.Errorf("become user %d: %w", u.UID, err)
	}
	return nil
}
