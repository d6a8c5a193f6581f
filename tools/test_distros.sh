#!/usr/bin/env bash
# test_distros.sh SUITE... : runs 'make demo' and 'make test' on a fresh minimal system of each Debian release.
#
# Each system is a debootstrap chroot with git, make and certificates, an empty environment and a clone of HEAD.
# TARGETS="demo" runs fewer targets, DISTROS_DIR=DIR keeps the chroots elsewhere (default build/distros). Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=${TARGETS:-demo test}
folder=$(realpath -m "${DISTROS_DIR:-build/distros}")
certificates=/etc/ssl/certs/ca-certificates.crt

[ "$(id -u)" -eq 0 ] || { echo "test_distros.sh: needs root, for debootstrap and chroot" >&2; exit 1; }
[ $# -gt 0 ] || { echo "usage: test_distros.sh SUITE..., e.g. bookworm trixie" >&2; exit 2; }
tools/install_debian.sh debootstrap git
mkdir -p "$folder"

# The base system is made once per suite; every test starts from a copy of it.
make_base() {
  local base=$1 suite=$2
  [ ! -e "$base/done" ] || return 0
  rm -rf --one-file-system "$base"
  debootstrap --variant=minbase --include=make,git,ca-certificates "$suite" "$base" > "$base.log" 2>&1 ||
    { echo "debootstrap failed; see $base.log" >&2; return 1; }
  touch "$base/done"
}

# Certificates that were added to this machine, for example of a company's proxy, are trusted there too.
copy_certificates() {
  local root=$1
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null || true
  chroot "$root" update-ca-certificates > /dev/null 2>&1
}

# The mounts live in a namespace of their own and end with the command. Open MPI needs /sys.
in_chroot() {
  local root=$1
  shift
  unshare --mount bash -c '
    root=$1; shift
    for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
    exec chroot "$root" "$@"' _ "$root" \
    /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PIP_CERT="$certificates" NODE_EXTRA_CA_CERTS="$certificates" "$@"
}

failed=0
for suite in "$@"; do
  root=$folder/$suite
  make_base "$root-base" "$suite"
  rm -rf --one-file-system "$root"
  cp -a "$root-base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  copy_certificates "$root"
  git clone --quiet --no-hardlinks . "$root/root/headscope"
  for target in $targets; do
    log=$folder/$suite-$target.log
    begin=$SECONDS
    if in_chroot "$root" make -C /root/headscope "$target" > "$log" 2>&1; then verdict=passed; else verdict=FAILED failed=1; fi
    echo "$suite: make $target $verdict in $((SECONDS - begin)) s; log: $log"
  done
done
exit $failed
