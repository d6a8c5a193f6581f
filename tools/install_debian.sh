#!/usr/bin/env bash
# install_debian.sh PACKAGE... : installs the Debian packages that are missing, and says which.
set -euo pipefail

if ! command -v apt-get > /dev/null; then
  echo "not a Debian system: make sure that what these Debian packages contain is installed: $*" >&2
  exit 0
fi

missing=()
for package in "$@"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "missing Debian packages: ${missing[*]}; install them as root, or install sudo" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "installing Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
