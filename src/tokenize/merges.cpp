#include "tokenize/merges.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "tokenize/pre_tokenizer.h"

namespace headscope {

void MergeReader::fail(std::string_view what) const {
  throw Error(ErrorKind::kFormat, fmt::format("{}: merge {} {}", where_, rank_, what));
}

std::uint32_t MergeReader::id_of(std::string_view token) const {
  const auto id = tokens_.find(token);
  if (!id) fail(fmt::format("needs token '{}', which the vocabulary does not have", printable(token, 60)));
  return *id;
}

void MergeReader::add(std::string_view left, std::string_view right, MergeTable& merges) {
  const std::uint32_t left_id = id_of(left);
  const std::uint32_t right_id = id_of(right);
  if (right.size() < prefix_) fail(fmt::format("has '{}', which lacks the prefix", printable(right, 60)));
  merges.set(left_id, right_id, {rank_, id_of(std::string(left).append(right.substr(prefix_)))});
  joins_before_mark_ = joins_before_mark_ || (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark));
  ++rank_;
}

void MergeReader::add_line(std::string_view line, MergeTable& merges) {
  if (line.starts_with("#version")) return;
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    fail(fmt::format("is '{}', expected two tokens", printable(line, 60)));
  }
  add(line.substr(0, space), line.substr(space + 1), merges);
}

}  // namespace headscope
