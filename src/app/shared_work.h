#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "headscope/base/ranks.h"

namespace headscope::app {

/// Returns the text that rank 0 gave. All ranks call it.
[[nodiscard]] std::string broadcast_text(Ranks& ranks, const std::string& text);

/// \throws Error  kBackend, on all ranks, if one of them was given something else than rank 0: `what` is "model",
///                `fingerprint` that of the one it sees.
void check_same_everywhere(Ranks& ranks, const std::string& what, const std::string& fingerprint);

/// For the manifest, on rank 0: the processor time of each rank and, if there are several, how many, the most memory
/// each has held, and how long each has waited for the others around the ring. All ranks call it.
[[nodiscard]] std::map<std::string, std::string> describe_ranks(Ranks& ranks);

/// How many ranks, this one among them, gave the same text. All ranks call it.
[[nodiscard]] std::size_t count_same(Ranks& ranks, const std::string& text);

/// On rank 0 the sum over all ranks.
[[nodiscard]] std::size_t sum_on_root(Ranks& ranks, std::size_t number);

}  // namespace headscope::app
