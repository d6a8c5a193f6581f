#!/usr/bin/env bash
# make_dist.sh : makes dist/headscope-VERSION-SYSTEM-PROCESSOR.tar.gz from the libraries in build/release, tries it, and says
# which glibc it needs. 'make dist' calls this.
set -euo pipefail
cd "$(dirname "$0")/.."

name=headscope-$(cat VERSION)-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
folder=build/dist/$name
cmake --preset dist > build/dist.log || { cat build/dist.log >&2; exit 1; }
cmake --build --preset dist --target headscope licenses
rm -rf "$folder"
cmake --install build/dist --component dist --prefix "$folder" --strip > /dev/null

mkdir -p dist
tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --directory build/dist \
  --file "dist/$name.tar.gz" "$name"

# With an empty environment and from another folder, as a user would.
moved=$(mktemp -d)
trap 'rm -rf "$moved"' EXIT
tar --extract --file "dist/$name.tar.gz" --directory "$moved"
for file in LICENSE THIRD_PARTY_LICENSES.txt share/man/man1/headscope.1 share/bash-completion/completions/headscope \
  share/zsh/site-functions/_headscope share/fish/vendor_completions.d/headscope.fish; do
  [ -s "$moved/$name/$file" ] || { echo "make_dist.sh: dist/$name.tar.gz has no $file" >&2; exit 1; }
done
(cd / && env -i "$moved/$name/bin/headscope" inspect "$moved/$name/share/headscope/models/demo" > /dev/null)
glibc=$(objdump -T "$folder/bin/headscope" "$folder"/lib/*.so* | grep -o 'GLIBC_[0-9.]*' | sort --version-sort --unique | tail -n 1)
echo "dist/$name.tar.gz, $(($(stat --format %s "dist/$name.tar.gz") / 1000000)) MB; needs glibc ${glibc#GLIBC_} or newer"
