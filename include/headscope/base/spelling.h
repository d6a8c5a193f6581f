#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headscope {

// What a misspelled word may mean.

/// Returns how many letters to insert, remove or replace, or neighbors to swap (Levenshtein's distance with swaps).
/// Cost: product of the lengths.
[[nodiscard]] std::size_t edits(std::string_view from, std::string_view to);

/// Returns the name that `word` most likely means, or an empty text if none is near: one that differs in case, in `-`
/// and `_`, in at most a third of its letters, or that begins with `word`. The first one wins among equals.
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> names);

/// Returns " (did you mean 'pk'?)" for a message, or an empty text if no name is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace headscope
