#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headscope/io/json.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// Returns a tree as JSON text, root first and leaves last, with the elements of each folder ascending:
///
///     {"n": 3, "levels": [
///       {"folders": [[0, 1, 2]]},
///       {"folders": [[0, 2], [1]]},
///       {"folders": [[0], [2], [1]]}
///     ]}
[[nodiscard]] std::string to_json(const PartitionTree& tree);

/// The same with "names", where names[i] is the name of element i. Bytes that are not UTF-8 become U+FFFD.
///
/// \throws Error  kInvalidArgument if the number of names is not n.
[[nodiscard]] std::string to_json(const PartitionTree& tree, std::span<const std::string> names);

/// Reads the output of `to_json`. Folders and elements may be in any order, and unknown members are ignored. Memory is
/// at most a small multiple of the text, regardless of the value of "n".
///
/// `where` is the prefix of every error message, e.g. the file's name.
/// \throws Error  kFormat if a member is missing or of the wrong kind, if the levels are not a partition tree of "n"
///                elements (see the constructor of PartitionTree), or if "names", if present, are not n strings.
[[nodiscard]] PartitionTree tree_from_json(JsonValue value, std::string_view where);

}  // namespace headscope
