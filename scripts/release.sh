#!/usr/bin/env bash
# Lays out a release: release.sh VERSION FOLDER. The manifests and templates go to FOLDER/release. Everything depends on
# the source alone, and twice the same source gives twice the same bytes.
set -euo pipefail
version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
root=$PWD
image=ghcr.io/drover-project/drover

if [[ ! $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
	echo "VERSION $version is not a version: it has to look like v1.2.3 or v1.2.3-rc.1" >&2
	exit 1
fi

rm -rf "$out/release" && mkdir -p "$out/release"
work=$(mktemp -d "$root/.release-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The image of the version is set on top of the tree, which itself stays as it is.
kustomize=$root/bin/kustomize
for provider in bootstrap control-plane; do
	mkdir "$work/$provider"
	cd "$work/$provider"
	"$kustomize" create --resources "../../config/$provider"
	"$kustomize" edit set image "$image:$version"
	"$kustomize" build . >"$out/release/$provider-components.yaml"
	cd "$root"
done
install -m 644 metadata.yaml templates/*.yaml "$out/release/"
