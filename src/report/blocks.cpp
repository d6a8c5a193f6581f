#include "report/blocks.h"

#include <fmt/format.h>
#include <zlib.h>

#include "headscope/base/error.h"

namespace headscope::report {

std::string base64(std::span<const std::byte> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto at = [&](std::size_t k) { return k < left ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0U; };
    const std::uint32_t group = at(0) << 16 | at(1) << 8 | at(2);
    text += kLetters[group >> 18];
    text += kLetters[group >> 12 & 63];
    text += left > 1 ? kLetters[group >> 6 & 63] : '=';
    text += left > 2 ? kLetters[group & 63] : '=';
  }
  return text;
}

std::vector<std::byte> compressed(std::span<const std::byte> bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::byte> out(size);
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()), 6);
  if (status != Z_OK) throw Error(ErrorKind::kResource, "out of memory while compressing a page");
  out.resize(size);
  return out;
}

std::size_t Blocks::add(std::span<const std::byte> bytes) {
  texts_.push_back(base64(compressed(bytes)));
  return texts_.size() - 1;
}

std::string Blocks::html() const {
  std::string html;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    html += fmt::format("<script type=\"application/octet-stream\" id=\"block-{}\">", i);
    html += texts_[i];
    html += "</script>\n";
  }
  return html;
}

}  // namespace headscope::report
