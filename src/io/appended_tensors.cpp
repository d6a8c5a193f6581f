#include "headscope/io/appended_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "headscope/base/error.h"

namespace headscope {
namespace {

constexpr std::size_t kLengthBytes = 8;        // safetensors: before the JSON
constexpr std::size_t kSafetensorsAlign = 8;   // of the data, so that float64 is aligned
constexpr std::size_t kTensorCountOffset = 8;  // GGUF: after magic and version
constexpr std::uint32_t kGgmlF32 = 0;

template <typename T>
void put(std::vector<std::byte>& out, T value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

void put_text(std::vector<std::byte>& out, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_values(std::vector<std::byte>& out, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::size_t rounded_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

void check_plain(std::string_view name) {
  const auto needs_escape = [](char c) { return c == '"' || c == '\\' || c < ' '; };
  if (std::ranges::any_of(name, needs_escape)) {
    throw Error(ErrorKind::kUnsupported, fmt::format("tensor name '{}' has special characters", printable(name)));
  }
}

}  // namespace

ExtendedFile extend_safetensors(std::span<const std::byte> file, std::span<const AppendedTensor> tensors) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  const auto json = file.subspan(kLengthBytes, static_cast<std::size_t>(length));
  std::string text(reinterpret_cast<const char*>(json.data()), json.size());  // NOLINT(*-reinterpret-cast)
  text.resize(text.find_last_of('}'));
  text.resize(text.find_last_not_of(" \n\r\t") + 1);

  ExtendedFile extended;
  extended.data = kLengthBytes + json.size();
  std::size_t offset = file.size() - extended.data;
  for (const AppendedTensor& tensor : tensors) {
    check_plain(tensor.name);
    const std::size_t end = offset + tensor.values.size() * sizeof(float);
    text += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[{}],"data_offsets":[{},{}]}})",
                        text.back() == '{' ? "" : ",", tensor.name, fmt::join(tensor.shape, ","), offset, end);
    put_values(extended.tail, tensor.values);
    offset = end;
  }
  text += '}';
  text.resize(rounded_up(text.size(), kSafetensorsAlign), ' ');
  put(extended.header, static_cast<std::uint64_t>(text.size()));
  put_text(extended.header, text);
  return extended;
}

ExtendedFile extend_gguf(const GgufFile& file, std::span<const AppendedTensor> tensors) {
  const std::size_t alignment = file.alignment();
  const auto old = file.bytes().first(file.header_bytes());
  ExtendedFile extended;
  extended.data = rounded_up(old.size(), alignment);
  extended.header.assign(old.begin(), old.end());
  const auto count = static_cast<std::uint64_t>(file.tensors().size() + tensors.size());
  std::memcpy(extended.header.data() + kTensorCountOffset, &count, sizeof(count));

  const std::size_t data = file.bytes().size() - extended.data;
  for (const AppendedTensor& tensor : tensors) {
    extended.tail.resize(rounded_up(data + extended.tail.size(), alignment) - data);
    put(extended.header, static_cast<std::uint64_t>(tensor.name.size()));
    put_text(extended.header, tensor.name);
    put(extended.header, static_cast<std::uint32_t>(tensor.shape.size()));
    // The file stores the innermost extent first.
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) {
      put(extended.header, static_cast<std::uint64_t>(*extent));
    }
    put(extended.header, kGgmlF32);
    put(extended.header, static_cast<std::uint64_t>(data + extended.tail.size()));
    put_values(extended.tail, tensor.values);
  }
  extended.tail.resize(rounded_up(data + extended.tail.size(), alignment) - data);
  extended.header.resize(rounded_up(extended.header.size(), alignment));
  return extended;
}

}  // namespace headscope
