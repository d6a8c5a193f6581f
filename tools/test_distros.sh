#!/usr/bin/env bash
# test_distros.sh SUITE... : runs 'make demo' and 'make test' on a fresh minimal system of each Debian release.
#
# Each system has git, make and certificates, an empty environment and a clone of HEAD. TARGETS="demo" runs fewer targets.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: test_distros.sh SUITE..., e.g. bookworm trixie" >&2; exit 2; }
source tools/debian_chroot.sh

failed=0
for suite in "$@"; do
  root=$distros/$suite
  CHROOT_PACKAGES="git make" fresh_chroot "$suite" "$root"
  git clone --quiet --no-hardlinks . "$root/headscope"
  for target in ${TARGETS:-demo test}; do
    log=$distros/$suite-$target.log
    begin=$SECONDS
    verdict=passed
    in_chroot "$root" make -C /headscope "$target" > "$log" 2>&1 || { verdict=FAILED; failed=1; }
    echo "$suite: make $target $verdict in $((SECONDS - begin)) s; log: $log"
  done
done
exit $failed
