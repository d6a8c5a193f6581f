#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "report/page_data.h"

namespace headscope::report {

/// Returns a number per token of a list of a tokens.json: "tokens" or "query_tokens". Neighbors with the same number
/// may be averaged: patches of the same row of an image, and tokens of a text. Special tokens have a number of their
/// own: tokens of an image that are no patches ([class], registers), the first token of a text, and tokens that come
/// from no part of the text ([SEP]).
[[nodiscard]] std::vector<std::size_t> token_groups(const Json& tokens, const char* list = "tokens");

/// Returns where blocks of at most `side` neighbors of the same group begin, in ascending order; the first is 0.
[[nodiscard]] std::vector<std::size_t> block_starts(std::span<const std::size_t> groups, std::size_t side);

/// Number of blocks that `block_starts` returns.
[[nodiscard]] std::size_t block_count(std::span<const std::size_t> groups, std::size_t side) noexcept;

}  // namespace headscope::report
