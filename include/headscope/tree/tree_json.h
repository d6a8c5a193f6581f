#pragma once

#include <span>
#include <string>
#include <string_view>

#include "headscope/io/json.h"
#include "headscope/tree/partition_tree.h"

namespace headscope {

/// A tree as JSON text, root first and leaves last, the elements of a folder
/// ascending:
///
///     {"n": 3, "levels": [
///       {"folders": [[0, 1, 2]]},
///       {"folders": [[0, 2], [1]]},
///       {"folders": [[0], [2], [1]]}
///     ]}
[[nodiscard]] std::string to_json(const PartitionTree& tree);

/// The same with "names", what the elements are called: names[i] belongs to
/// element i. Bytes that are not UTF-8 become U+FFFD.
///
/// \throws Error  kInvalidArgument if there are not n names.
[[nodiscard]] std::string to_json(const PartitionTree& tree, std::span<const std::string> names);

/// Reads what `to_json` writes; folders and elements may come in any order and
/// unknown members are passed over. Memory stays within a small multiple of the text, whatever "n" says.
///
/// `where` begins the message of every error, e.g. the file's name.
/// \throws Error  kFormat if a member is missing or of the wrong kind, if the
///                levels are not a partition tree of "n" elements (the constructor of PartitionTree lists the ways),
///                or if "names", where present, are not n strings.
[[nodiscard]] PartitionTree tree_from_json(JsonValue value, std::string_view where);

}  // namespace headscope
