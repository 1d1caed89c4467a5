package userdata

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"
)

// SetOwner gives the file or folder, which the machine knows as name, to the
// owner. A note is returned when that is not possible because the machine's user
// namespace has no such id.
func SetOwner(path, name, owner string) (note string, err error) {
	uid, gid, err := lookUpOwner(owner)
	if err != nil {
		return "", err
	}
	return chown(path, name, owner, uid, gid)
}

func chown(path, name, owner string, uid, gid int) (note string, err error) {
	err = os.Chown(path, uid, gid)
	if errors.Is(err, syscall.EINVAL) {
		return fmt.Sprintf("%s stays with root: without root rights a lab machine has no user %s", name, owner), nil
	}
	return "", err
}

// lookUpOwner resolves USER[:GROUP]; a missing part is left as it is (-1).
func lookUpOwner(owner string) (uid, gid int, err error) {
	uid, gid = -1, -1
	name, group, _ := strings.Cut(owner, ":")
	if name != "" {
		if uid, err = lookUp(name, func(name string) (string, error) {
			u, err := user.Lookup(name)
			if err != nil {
				return "", err
			}
			return u.Uid, nil
		}); err != nil {
			return 0, 0, fmt.Errorf("owner %q: %w", owner, err)
		}
	}
	if group != "" {
		if gid, err = lookUp(group, func(name string) (string, error) {
			g, err := user.LookupGroup(name)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		}); err != nil {
			return 0, 0, fmt.Errorf("owner %q: %w", owner, err)
		}
	}
	return uid, gid, nil
}

func lookUp(name string, find func(string) (string, error)) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 32); err == nil && id < math.MaxUint32 {
		return int(id), nil
	}
	id, err := find(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(id)
}
