#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headscope::test {

/// Decodes base64, following the definition.
inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char letter : text) {
    if (letter == '=') break;
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos) throw std::runtime_error("not base64");
    group = group << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 255U);
  }
  return bytes;
}

/// Decompresses a zlib stream.
inline std::string inflated(std::string_view stream) {
  std::string bytes(std::size_t{1} << 24, '\0');
  uLongf size = bytes.size();
  if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(stream.data()),
                 stream.size()) != Z_OK)
    throw std::runtime_error("not a zlib stream");
  bytes.resize(size);
  return bytes;
}

/// The contents of a page: its decompressed blocks, and the main block as JSON.
struct PageContents {
  nlohmann::json main;
  std::vector<std::string> blocks;
};

inline PageContents open_page(const std::string& html) {
  PageContents page;
  constexpr std::string_view kBegin = "<script type=\"application/octet-stream\" id=\"block-";
  for (std::size_t at = html.find(kBegin); at != std::string::npos; at = html.find(kBegin, at + 1)) {
    const std::size_t begin = html.find('>', at) + 1;
    page.blocks.push_back(inflated(from_base64(std::string_view(html).substr(begin, html.find('<', begin) - begin))));
  }
  constexpr std::string_view kMain = "<meta name=\"headscope-main\" content=\"";
  page.main = nlohmann::json::parse(page.blocks.at(std::stoul(html.substr(html.find(kMain) + kMain.size(), 8))));
  return page;
}

}  // namespace headscope::test
