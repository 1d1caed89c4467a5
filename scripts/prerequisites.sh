#!/bin/sh
# Says what is missing to build and run Drover and its laboratory.
set -u
missing=0
need() {
	if ! command -v "$1" >/dev/null 2>&1; then
		echo "missing: $1. $2" >&2
		missing=1
	fi
}
need go "Install Go 1.26 or later: https://go.dev/dl"
need git "Install git."
if [ "$(uname -s)" != Linux ]; then
	echo "missing: Linux. The laboratory uses namespaces; run it in a Linux virtual machine." >&2
	missing=1
fi
if command -v go >/dev/null 2>&1; then
	version=$(go env GOVERSION | sed 's/^go//')
	case $version in
	1.[0-9].* | 1.1[0-9]* | 1.2[0-5]*)
		echo "missing: Go 1.26 or later; this is Go $version." >&2
		missing=1
		;;
	esac
fi
free=$(df -Pk . | awk 'NR==2 {print int($4 / 1048576)}')
if [ "$free" -lt 12 ]; then
	echo "missing: disk. A first build needs about 12 GiB for modules, build cache and binaries; $free GiB are free here." >&2
	missing=1
fi
exit $missing
