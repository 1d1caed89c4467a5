package cri

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A container with the variable SyncDelayFile in its environment runs on a disk that can be slow: each of its fsync and
// fdatasync calls takes longer by what the file says at that moment (a Go duration; no file, no delay). The kernel
// hands these two calls to a process beside the container, which sleeps and lets them go on
// (seccomp_unotify(2), Linux 5.5). Nothing else of the container is touched, and the data really are synchronised.

// SyncDelayFile is the name of the variable.
const SyncDelayFile = "LAB_SYNC_DELAY_FILE"

// syncDelayCommand is the one argument with which Main becomes the process that delays.
const syncDelayCommand = "sync-delay"

// syncDelayFD is where it finds the socket on which the listener comes.
const syncDelayFD = 3

// syncDelayOf returns the file that a container's environment names, "" for none.
func syncDelayOf(env []string) string {
	for _, e := range env {
		if file, ok := strings.CutPrefix(e, SyncDelayFile+"="); ok {
			return file
		}
	}
	return ""
}

// delaySyncs has the syncs of this thread, and of the command that it becomes, delayed.
func delaySyncs(file string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket for slow syncs: %w", err)
	}
	mine, its := os.NewFile(uintptr(pair[0]), "mine"), os.NewFile(uintptr(pair[1]), "its")
	defer func() { _, _ = mine.Close(), its.Close() }()
	// It belongs to the container's process group, and ends with it.
	cmd := exec.Command("/proc/self/exe", Applet, syncDelayCommand, file) //nolint:noctx // it outlives this program on purpose
	cmd.ExtraFiles = []*os.File{its}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("process for slow syncs: %w", err)
	}
	listener, err := handSyncsOver()
	if err != nil {
		return fmt.Errorf("slow syncs need seccomp's user notification (Linux 5.5): %w", err)
	}
	defer func() { _ = unix.Close(listener) }()
	if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand syncs over: %w", err)
	}
	return nil
}

// handSyncsOver installs the filter on this thread and returns what hears of its syncs.
func handSyncsOver() (listener int, err error) {
	runtime.LockOSThread() // until the thread becomes the command
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// struct seccomp_data has the number of the call first.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: unix.SYS_FDATASYNC},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_FSYNC},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// notification is struct seccomp_notif: which call waits.
type notification struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Data  [64]byte
}

// response is struct seccomp_notif_resp.
type response struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

// syncDelayMain delays syncs until their container has ended.
func syncDelayMain(args []string) int {
	if len(args) != 1 {
		return 2
	}
	listener, err := receiveListener()
	for err == nil {
		// The kernel wants it empty.
		var call notification
		if err = control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&call)); err == nil {
			go letGo(listener, call.ID, args[0])
		}
		if errors.Is(err, unix.EINTR) {
			err = nil
		}
		// ENOENT: the caller was killed, or there is no caller any more.
		if errors.Is(err, unix.ENOENT) && !hungUp(listener) {
			err = nil
		}
	}
	if !errors.Is(err, unix.ENOENT) {
		fmt.Fprintln(os.Stderr, "slow syncs:", err)
		return 1
	}
	return 0
}

// letGo answers one call after the delay. It fails when the caller is gone, who needs no answer then.
func letGo(listener int, id uint64, file string) {
	time.Sleep(syncDelay(file))
	answer := response{ID: id, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	_ = control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
}

func syncDelay(file string) time.Duration {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	delay, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return delay
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

func hungUp(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&unix.POLLHUP != 0
}

func receiveListener() (int, error) {
	syscall.CloseOnExec(syncDelayFD)
	defer func() { _ = unix.Close(syncDelayFD) }()
	data, space := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(syncDelayFD, data, space, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("receive listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(space[:n])
	if err != nil || len(messages) != 1 {
		return 0, fmt.Errorf("receive listener: %d messages: %w", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, fmt.Errorf("receive listener: %d descriptors: %w", len(fds), err)
	}
	return fds[0], nil
}
