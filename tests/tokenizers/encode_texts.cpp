// encode_texts FILE|MODEL [none] : encodes the texts on standard input, for comparison with other tokenizers. A text is
// its length in 32 bits and its bytes. For each comes back: the number of tokens, then id, begin and end of each, all
// in 32 bits; or 2^32 - 1, the length of a message, and the message. FILE is a tokenizer.json.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/mapped_file.h"
#include "headscope/tokenize/tokenizer.h"

namespace headscope {
namespace {

std::optional<Tokenizer> open(const std::filesystem::path& path) {
  if (path.extension() != ".json") return Tokenizer::load(Checkpoint::open(path));
  return Tokenizer::from_json(as_text(MappedFile::open(path).bytes()), path.string());
}

void put(std::string& out, std::uint64_t value) {
  const auto number = static_cast<std::uint32_t>(value);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof number);
}

void encode(const Tokenizer& tokenizer, std::string_view text, SpecialTokens special, std::string& out) {
  try {
    const std::vector<Token> tokens = tokenizer.encode(text, special);
    put(out, tokens.size());
    for (const Token& token : tokens) {
      put(out, token.id);
      put(out, token.begin);
      put(out, token.end);
    }
  } catch (const Error& error) {
    const std::string_view message = error.what();
    put(out, 0xFFFFFFFF);
    put(out, message.size());
    out.append(message);
  }
}

int run(const std::filesystem::path& path, SpecialTokens special) {
  const std::optional<Tokenizer> tokenizer = open(path);
  if (!tokenizer) {
    std::cerr << path.string() << ": has no tokenizer\n";
    return 1;
  }
  const std::string input((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  std::string out;
  for (std::size_t at = 0; at + 4 <= input.size();) {
    std::uint32_t size = 0;
    std::memcpy(&size, input.data() + at, sizeof size);
    encode(*tokenizer, std::string_view(input).substr(at + 4, size), special, out);
    at += 4 + std::size_t{size};
  }
  std::cout.write(out.data(), static_cast<std::streamsize>(out.size()));
  return 0;
}

}  // namespace
}  // namespace headscope

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " FILE|MODEL [none] < TEXTS\n";
    return 2;
  }
  try {
    const bool none = argc > 2 && std::string_view(argv[2]) == "none";
    return headscope::run(argv[1], none ? headscope::SpecialTokens::kNone : headscope::SpecialTokens::kAdd);
  } catch (const headscope::Error& error) {
    std::cerr << error.what() << '\n';
    return 3;
  }
}
