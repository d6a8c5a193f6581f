#include "tokenize/token_model.h"

#include <fmt/format.h>

#include "headscope/base/error.h"

namespace headscope {

ByteTokens find_byte_tokens(const TokenTable& tokens) {
  ByteTokens found{};
  for (std::size_t b = 0; b < found.size(); ++b) found[b] = tokens.find(fmt::format("<0x{:02X}>", b));
  return found;
}

void throw_no_token(std::string_view part) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("text: '{}' has no token, and the tokenizer has no unknown token", printable(part, 60)));
}

}  // namespace headscope
