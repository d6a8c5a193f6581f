#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headscope/base/patch_windows.h"
#include "headscope/io/json.h"

namespace headscope {

/// What a tokens.json says about the maps beside it. The writer is `tokens_json` in capture/tokens_json.h: an entry
/// that is added there is read here.
struct MapDescription {
  std::string kind = {};    ///< "text" or "image"; empty if it is not stated.
  std::string source = {};  ///< The text, or what it came from, e.g. the name of a file.
  std::string name = {};    ///< Unique among the inputs of a run; empty in older runs.
  std::string block = {};   ///< encoder, decoder or cross, if the model has such blocks.
  std::string file = {};    ///< Name of the file it came from, without its folder; empty if there is none.
  bool causal = false;
  std::vector<std::size_t> windows = {};  ///< By layer of the model, 0: none. Empty if no layer has one.
  std::vector<std::size_t> chunks = {};   ///< The same: a query sees only keys of its own chunk of that many tokens.
  std::vector<PatchWindows> patch_windows = {};  ///< By layer: patches see only those of their own window. Empty if no
                                                 ///< layer has any.
  std::vector<std::pair<std::size_t, std::size_t>> places = {};  ///< Row and column of every token; empty if some are
                                                                 ///< no patches.
  std::vector<std::string> heads = {};          ///< Along the first axis of the maps; not necessarily names like L4H7.
  std::optional<std::size_t> first_query = {};  ///< Token of the first row.
  std::optional<std::size_t> queries = {};      ///< Rows per map.
  std::vector<std::string> tokens = {};         ///< Texts of the keys, and of the queries unless they are others.
  std::vector<std::string> query_tokens =
      {};  ///< Texts of the queries, if they are not among the keys: cross-attention.

  /// Texts that the rows are counted in.
  [[nodiscard]] const std::vector<std::string>& row_tokens() const noexcept {
    return query_tokens.empty() ? tokens : query_tokens;
  }
};

/// Reads the description. Every entry may be missing, but none may be malformed. Other entries are ignored.
///
/// The names of heads become names of files: they contain no slash, are not empty, and bytes that would break a line
/// are escaped.
///
/// \throws Error  kFormat if the value is not an object or an entry is malformed. The message starts with `where`.
[[nodiscard]] MapDescription parse_map_description(JsonValue root, const std::string& where);

}  // namespace headscope
