#include "headscope/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>

#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/json.h"
#include "io/git_lfs.h"

namespace headscope {
namespace {

// The format's limit for the JSON header (safetensors' MAX_HEADER_SIZE).
constexpr std::uint64_t kMaxHeader = 100'000'000;

[[noreturn]] void malformed(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kFormat, fmt::format("{}: {}", where, what));
}

Shape read_shape(JsonValue value, const std::string& where) {
  if (!value.is_array()) malformed(where, "has no 'shape' list");
  Shape shape;
  for (const JsonValue item : value.items()) {
    const auto extent = item.as_unsigned();
    if (!extent) malformed(where, "has an extent in 'shape' that is not a non-negative integer");
    shape.push_back(static_cast<std::size_t>(*extent));
  }
  return shape;
}

struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

Extent read_extent(JsonValue value, std::uint64_t available, const std::string& where) {
  std::vector<std::uint64_t> offsets;
  for (const JsonValue item : value.items()) {
    const auto offset = item.as_unsigned();
    if (!offset || offsets.size() == 2) malformed(where, "has 'data_offsets' that are not two integers");
    offsets.push_back(*offset);
  }
  if (offsets.size() != 2) malformed(where, "has no 'data_offsets' pair");
  if (offsets[0] > offsets[1]) {
    malformed(where, fmt::format("begins at byte {} and ends before it, at {}", offsets[0], offsets[1]));
  }
  if (offsets[1] > available) {
    malformed(where, fmt::format("ends at byte {} of the data, but the file holds only {} (is it truncated?)",
                                 offsets[1], available));
  }
  return {offsets[0], offsets[1]};
}

StoredTensor read_tensor(std::string_view name, JsonValue entry, std::span<const std::byte> data,
                         const std::string& file) {
  const std::string where = fmt::format("{}: tensor '{}'", file, printable(name));
  if (!entry.is_object()) malformed(where, "is not described by an object");

  const auto type_name = entry.find("dtype").as_string();
  if (!type_name) malformed(where, "has no 'dtype'");
  const auto dtype = dtype_from_safetensors(*type_name);
  if (!dtype) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{} has unknown dtype '{}'", where, printable(*type_name)));
  }
  StoredTensor tensor{std::string(name), *dtype, read_shape(entry.find("shape"), where), {}};
  const Extent extent = read_extent(entry.find("data_offsets"), data.size(), where);

  const auto elements = element_count(tensor.shape);
  const auto expected = elements ? stored_bytes(*dtype, *elements) : std::nullopt;
  const std::uint64_t found = extent.end - extent.begin;
  if (expected != found) {
    malformed(where, fmt::format("of shape {} and dtype {} has {} bytes, expected {}", to_string(tensor.shape),
                                 info(*dtype).name, found,
                                 expected ? std::to_string(*expected) : "a number that fits 64 bits"));
  }
  tensor.bytes = data.subspan(extent.begin, found);
  return tensor;
}

// The format requires that every byte of the data is used exactly once.
void check_cover(std::span<const StoredTensor> tensors, std::span<const std::byte> data, const std::string& file) {
  const std::byte* expected = data.data();
  for (const StoredTensor& tensor : tensors) {
    if (tensor.bytes.empty()) continue;
    if (tensor.bytes.data() != expected) {
      malformed(file, fmt::format("tensor '{}' begins at byte {} of the data, {} byte {} where the one before it ends",
                                  printable(tensor.name), tensor.bytes.data() - data.data(),
                                  tensor.bytes.data() < expected ? "overlapping" : "leaving a gap after",
                                  expected - data.data()));
    }
    expected += tensor.bytes.size();
  }
  const auto unused = data.data() + data.size() - expected;
  if (unused != 0) malformed(file, fmt::format("the last {} bytes belong to no tensor", unused));
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  MappedFile file = MappedFile::open(path);
  reject_git_lfs_pointer(path, file.bytes());
  const std::string where = path.string();
  ByteReader reader(file.bytes(), where);

  const auto header_size = reader.read<std::uint64_t>("the header's length");
  if (header_size > kMaxHeader) {
    malformed(where, fmt::format("the header claims {} bytes, the format allows {} (is this a safetensors file?)",
                                 header_size, kMaxHeader));
  }
  const std::string_view header = as_text(reader.take(header_size, "the header"));
  if (!header.starts_with('{')) malformed(where, "the header does not begin with '{' (is this a safetensors file?)");
  const std::span<const std::byte> data = file.bytes().subspan(reader.position());

  const JsonDocument document = JsonDocument::parse(header, where + " (header)");
  std::vector<StoredTensor> tensors;
  std::unordered_set<std::string_view> names;
  for (const auto [name, entry] : document.root().members()) {
    if (!names.insert(name).second) malformed(where, fmt::format("duplicate tensor '{}'", printable(name)));
    if (name == "__metadata__") continue;
    tensors.push_back(read_tensor(name, entry, data, where));
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const StoredTensor& a, const StoredTensor& b) { return a.bytes.data() < b.bytes.data(); });
  check_cover(tensors, data, where);
  return {std::move(file), std::move(tensors)};
}

}  // namespace headscope
