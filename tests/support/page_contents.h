#pragma once

#include <zlib.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// 0, 1/4, 2/4, ...
inline std::vector<float> ramp(std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<float>(i) / 4;
  return values;
}

/// The number that a page gives for element i of an array of one scale.
inline double value_at(const PageContents& page, const nlohmann::json& array, std::size_t i) {
  const std::string& bytes = page.blocks.at(array["block"].get<std::size_t>());
  const bool wide = array["type"] == "u16";
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(bytes.at(at))); };
  const unsigned code = wide ? byte(2 * i) | byte(2 * i + 1) << 8 : byte(i);
  const unsigned missing = wide ? 65535 : 255;
  if (code == missing) return std::numeric_limits<double>::quiet_NaN();
  const double low = array["low"][0];
  const double high = array["high"][0];
  return low + (high - low) * std::pow(code / static_cast<double>(missing - 1), array["power"].get<double>());
}

}  // namespace headscope::test
