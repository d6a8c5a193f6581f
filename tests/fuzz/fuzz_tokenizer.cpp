// The input is a tokenizer.json up to the first NUL byte, then a text. Only an Error may come out, and tokens lie
// within the text.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/tokenize/tokenizer.h"

namespace headscope {
namespace {

void check(const Tokenizer& tokenizer, std::string_view text, SpecialTokens special) {
  for (const Token& token : tokenizer.encode(text, special)) {
    if (token.begin > token.end || token.end > text.size()) std::abort();
  }
}

}  // namespace
}  // namespace headscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t split = std::min(input.find('\0'), input.size());
  try {
    const headscope::Tokenizer tokenizer = headscope::Tokenizer::from_json(input.substr(0, split), "fuzz.json");
    const std::string_view text = input.substr(std::min(split + 1, input.size()));
    headscope::check(tokenizer, text, headscope::SpecialTokens::kAdd);
    headscope::check(tokenizer, text, headscope::SpecialTokens::kNone);
  } catch (const headscope::Error& error) {
    // Refusing is right, in one line of bearable length.
    const std::string_view message = error.what();
    if (message.size() > 20000 || message.find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
