#!/usr/bin/env bash
# install_debian.sh PACKAGE... : installs the Debian packages that are missing. Prints them, and the commands that run as root,
# before the first command, so that a question of sudo for a password never comes unexplained. Without root and without sudo
# it installs nothing, prints the command for root, and fails.
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

by_hand="apt-get install --no-install-recommends ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo > /dev/null || {
    echo "missing Debian packages, and neither root nor sudo to install them; as root, run: $by_hand" >&2
    exit 1
  }
  as_root=(sudo)
fi
# sudo does not pass the environment on.
update=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq)
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}")
echo "installing Debian packages: ${missing[*]}"
echo "  ${update[*]}"
echo "  ${install[*]}"
if ! "${update[@]}" || ! "${install[@]}" > /dev/null; then
  echo "the Debian packages were not installed; as root, run: $by_hand" >&2
  exit 1
fi
