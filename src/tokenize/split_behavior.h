#pragma once

#include <vector>

#include "tokenize/piece_text.h"
#include "tokenize/pre_tokenizer.h"
#include "tokenize/regex.h"

namespace headscope {

/// Appends the parts of a text that remain after splitting it into these segments.
void split_segments(const std::vector<Segment>& segments, SplitBehavior behavior, std::vector<PieceText::Cut>& cuts);

/// Appends the segments of `text`: every character for which `test` holds is a match.
template <typename Test>
void find_characters(std::string_view text, Test&& test, std::vector<Segment>& segments) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size();) {
    const DecodedChar c = decode_at(text, i);
    if (test(c.value)) {
      if (done < i) segments.push_back({done, i, false});
      done = i + c.size;
      segments.push_back({i, done, true});
    }
    i += c.size;
  }
  if (done < text.size()) segments.push_back({done, text.size(), false});
}

}  // namespace headscope
