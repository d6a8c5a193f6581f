# debian_chroot.sh : to be sourced. Minimal Debian systems to try things in; needs root.
#
#   fresh_chroot SUITE ROOT     a new minimal system of a Debian release, with the packages of $CHROOT_PACKAGES
#   in_chroot ROOT COMMAND...   runs a command there with an empty environment
#
# Chroots lie in $DISTROS_DIR (default build/distros), the untouched base of each release beside them.
set -euo pipefail

[ "$(id -u)" -eq 0 ] || { echo "${0##*/}: needs root, for debootstrap and chroot" >&2; exit 1; }
distros=$(realpath -m "${DISTROS_DIR:-build/distros}")
mkdir -p "$distros"

# Mounts live in a namespace of their own and end with the command. Open MPI needs /sys.
in_chroot() {
  local root=$1 certificates=/etc/ssl/certs/ca-certificates.crt
  shift
  unshare --mount bash -c '
    root=$1; shift
    for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
    exec chroot "$root" "$@"' _ "$root" \
    /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    PIP_CERT="$certificates" NODE_EXTRA_CA_CERTS="$certificates" "$@"
}

fresh_chroot() {
  local suite=$1 root=$2
  local base=$distros/$suite-base
  if [ ! -e "$base/complete" ]; then
    tools/install_debian.sh debootstrap
    rm -rf --one-file-system "$base"
    debootstrap --variant=minbase --include=ca-certificates "$suite" "$base" > "$base.log" 2>&1 ||
      { echo "debootstrap $suite failed; see $base.log" >&2; return 1; }
    touch "$base/complete"
  fi
  rm -rf --one-file-system "$root"
  cp -a "$base" "$root"
  # Without its own name in /etc/hosts mpirun asks name servers for it, for 10 s each time.
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  # Certificates that were added to this machine, for example those of a proxy, are trusted there too.
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/" 2> /dev/null || true
  in_chroot "$root" update-ca-certificates > /dev/null 2>&1
  in_chroot "$root" apt-get update -qq
  [ -z "${CHROOT_PACKAGES:-}" ] ||
    in_chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $CHROOT_PACKAGES > /dev/null
}
