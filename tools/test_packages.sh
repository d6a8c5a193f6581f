#!/usr/bin/env bash
# test_packages.sh SUITE... : tries the wheels and the tarball in dist/ on fresh systems without compilers or OpenBLAS.
#
# The tarball: on each Debian release, and in a folder with nothing but glibc (of the first release). The wheel: on each
# release with Python only; the lines of README, the command, the time of the import. 'make test-packages' calls this.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: test_packages.sh SUITE..., e.g. bookworm trixie" >&2; exit 2; }
source tools/debian_chroot.sh

tarball=$(ls dist/headscope-*.tar.gz)
name=$(basename "$tarball" .tar.gz)

# Nothing but the C library and /proc, through which the loader finds what lies beside a program.
only_glibc() {
  local from=$1 root=$distros/only-glibc
  rm -rf --one-file-system "$root"
  mkdir -p "$root/lib64" "$root/lib/x86_64-linux-gnu" "$root/tmp" "$root/proc"
  cp "$from"/lib64/ld-linux-x86-64.so.2 "$root/lib64/"
  for library in c m dl rt pthread; do cp "$from/lib/x86_64-linux-gnu/lib$library.so".? "$root/lib/x86_64-linux-gnu/"; done
  tar --extract --file "$tarball" --directory "$root"
  env -i unshare --mount bash -c 'mount --bind /proc "$1/proc"; exec chroot "$1" "/$2/bin/headscope" demo -o /tmp/demo' \
    _ "$root" "$name" > "$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; return 1; }
  echo "only glibc of $suite: tarball's demo passed"
}

for suite in "$@"; do
  root=$distros/$suite-packages
  CHROOT_PACKAGES="" fresh_chroot "$suite" "$root"
  tar --extract --file "$tarball" --directory "$root/opt"
  in_chroot "$root" "/opt/$name/bin/headscope" demo -o /tmp/demo > "$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
  echo "$suite: tarball's demo passed"
  [ "$suite" != "$1" ] || only_glibc "$root"

  in_chroot "$root" apt-get install -qq -y --no-install-recommends python3 python3-venv > /dev/null 2>&1
  mkdir "$root/wheels"
  cp dist/*.whl tests/packages/readme_lines.py "$root/wheels/"
  in_chroot "$root" sh -ec '
    if command -v cc c++ g++ gcc ld || ls /usr/lib/*/libopenblas* 2> /dev/null; then
      echo "this system has a compiler or OpenBLAS"; exit 1
    fi
    python3 -m venv /venv
    /venv/bin/pip install --quiet --disable-pip-version-check --find-links /wheels headscope
    /venv/bin/headscope demo -o /tmp/wheel-demo > /dev/null
    /venv/bin/python /wheels/readme_lines.py
    /venv/bin/pip install --quiet --disable-pip-version-check --find-links /wheels "headscope[all]"
    /venv/bin/python /wheels/readme_lines.py'
  echo "$suite: wheel passed"
done
