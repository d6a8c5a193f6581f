#!/usr/bin/env bash
# test_library.sh BUILD : installs the C++ library of a build tree, builds examples/cpp against it as a user would, runs the
# programs, and configures a project that has headscope as a subdirectory.
set -euo pipefail
build=$(realpath "$1")
source=$(realpath "$(dirname "$0")/..")
work=$build/library-test
rm -rf "$work" && mkdir -p "$work"

cmake --install "$build" --component library --prefix "$work/prefix" > "$work/install.log"
cmake -S "$source/examples/cpp" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" > "$work/configure.log"
cmake --build "$work/examples" > "$work/build.log" || { tail -30 "$work/build.log" >&2; exit 1; }

# The same edges as the program finds, the largest z under the matched null first.
edges=$("$work/examples/strongest_edges" "$source/models/demo")
[ "$(wc -l <<< "$edges")" = 10 ] || { echo "expected ten edges, found: $edges" >&2; exit 1; }
"$source/build/headscope" relate "$source/models/demo" -o "$work/run" --quiet > /dev/null
best=$(tail -n +2 "$work/run/edges.csv" | sort -t, -k7,7gr | awk -F, 'NR == 1 {print $1 "," $2 "," $3}')
[ "$(awk 'NR == 1 {print $1 "," $2 "," $4}' <<< "$edges")" = "$best" ] || { echo "expected $best first, found: $edges" >&2; exit 1; }
"$work/examples/attention_maps" "$source/models/demo" "Mary had a ball." "$work/maps" > "$work/maps.log" 2>&1
[ -s "$work/maps/pattern.npy" ] || { echo "attention_maps wrote no maps" >&2; exit 1; }
if "$work/examples/strongest_edges" "$work/missing" 2> "$work/error.log"; then echo "a missing model was accepted" >&2; exit 1; fi
grep -q "missing" "$work/error.log"

mkdir "$work/parent"
cat > "$work/parent/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_subdirectory("$source" headscope)
add_executable(strongest_edges "$source/examples/cpp/strongest_edges.cpp")
target_link_libraries(strongest_edges PRIVATE headscope::headscope)
END
cmake -S "$work/parent" -B "$work/parent/build" -G Ninja > "$work/parent.log"
ninja -C "$work/parent/build" -n strongest_edges > "$work/parent-build.log"
echo "library: installed, two programs built and run; configures as a subdirectory"
