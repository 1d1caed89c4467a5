#!/bin/sh
# Stands in for the RKE2 install script of https://get.rke2.io on a lab machine.
# It takes the same variables and fails where the original fails; what it
# "installs" is a link to the lab's own stand-in for RKE2.
set -e

info() { echo "[INFO] " "$@"; }
fatal() { echo "[ERROR] " "$@" >&2; exit 1; }

LAB=/run/lab/sbin/lab
PREFIX="${INSTALL_RKE2_TAR_PREFIX:-/usr/local}"
TYPE="${INSTALL_RKE2_TYPE:-${INSTALL_RKE2_EXEC:-server}}"
METHOD="${INSTALL_RKE2_METHOD:-tar}"
RELEASES="${INSTALL_RKE2_ARTIFACT_URL:-https://github.com/rancher/rke2/releases/download}"
CHANNEL_URL="${INSTALL_RKE2_CHANNEL_URL:-https://update.rke2.io/v1-release/channels}"

# well_formed VERSION: vX.Y.Z[-rcN]+rke2rN
well_formed() {
    printf '%s\n' "$1" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-rc[0-9]+)?\+rke2r[0-9]+$'
}

choose_version() {
    if [ -n "${INSTALL_RKE2_ARTIFACT_PATH}" ]; then
        [ -r "${INSTALL_RKE2_ARTIFACT_PATH}/version" ] ||
            fatal "no RKE2 artifacts found in ${INSTALL_RKE2_ARTIFACT_PATH}"
        VERSION="$(cat "${INSTALL_RKE2_ARTIFACT_PATH}/version")"
        info "using local RKE2 installation artifacts in ${INSTALL_RKE2_ARTIFACT_PATH}"
        return
    fi
    VERSION="${INSTALL_RKE2_VERSION}"
    if [ -z "${VERSION}" ]; then
        info "finding release for channel ${INSTALL_RKE2_CHANNEL:-stable}"
        curl -fsSL -o /dev/null "${CHANNEL_URL}/${INSTALL_RKE2_CHANNEL:-stable}" ||
            fatal "failed to find a version for channel ${INSTALL_RKE2_CHANNEL:-stable}: set INSTALL_RKE2_VERSION"
    fi
    info "using ${VERSION} as release"
}

fetch() {
    well_formed "${VERSION}" && return
    url="${RELEASES}/$(printf '%s' "${VERSION}" | sed 's/+/%2B/g')/sha256sum-amd64.txt"
    info "downloading checksums at ${url}"
    curl -fsSL -o /dev/null "${url}"
}

unit() {
    cat > "${PREFIX}/lib/systemd/system/rke2-$1.service" <<UNIT
[Unit]
Description=Rancher Kubernetes Engine v2 ($1)
Wants=network-online.target
After=network-online.target
Conflicts=rke2-$2.service

[Install]
WantedBy=multi-user.target

[Service]
Type=notify
EnvironmentFile=-/etc/default/%N
EnvironmentFile=-/etc/sysconfig/%N
EnvironmentFile=-${PREFIX}/lib/systemd/system/%N.env
KillMode=process
TimeoutStartSec=0
Restart=always
RestartSec=5s
ExecStart=${PREFIX}/bin/rke2 $1
UNIT
}

case "${TYPE}" in
server | agent) ;;
*) fatal "unknown INSTALL_RKE2_TYPE '${TYPE}': it must be server or agent" ;;
esac
case "${METHOD}" in
tar) ;;
rpm) fatal "this system has neither yum nor zypper: INSTALL_RKE2_METHOD must be tar" ;;
*) fatal "unknown INSTALL_RKE2_METHOD '${METHOD}': it must be tar or rpm" ;;
esac
[ "${PREFIX}" = /usr/local ] || fatal "lab machines support only the prefix /usr/local, not ${PREFIX}"

choose_version
fetch
well_formed "${VERSION}" || fatal "'${VERSION}' is not an RKE2 version"
info "unpacking tarball file to ${PREFIX}"
mkdir -p "${PREFIX}/bin" "${PREFIX}/share/rke2" "${PREFIX}/lib/systemd/system"
ln -sf "${LAB}" "${PREFIX}/bin/rke2"
printf '%s\n' "${VERSION}" > "${PREFIX}/share/rke2/version"
unit server agent
unit agent server
