#include "headscope/io/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "headscope/base/error.h"
#include "headscope/base/shape.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/dtype.h"
#include "io/gguf_value.h"
#include "io/git_lfs.h"

namespace headscope {
namespace {

// Minimum size of an entry: length of its key, type, a value of one byte.
constexpr std::uint64_t kSmallestEntry = 8 + 4 + 1;
// Minimum size of a tensor in the header: length of its name, number of dimensions, type, offset.
constexpr std::uint64_t kSmallestTensor = 8 + 4 + 4 + 8;
constexpr std::uint32_t kMaxDimensions = 4;
constexpr std::uint64_t kDefaultAlignment = 32;

[[noreturn]] void fail(ErrorKind kind, std::string_view file, const std::string& text) {
  throw Error(kind, fmt::format("{}: {}", file, text));
}

std::string quoted(std::string_view what, std::string_view name) {
  return fmt::format("{} '{}'", what, printable(name));
}

void check_magic(ByteReader& reader, std::string_view file) {
  const std::string_view magic = as_text(reader.take(4, "GGUF magic"));
  if (magic != "GGUF") {
    fail(ErrorKind::kFormat, file, fmt::format("begins with '{}', expected 'GGUF'", printable(magic)));
  }
}

std::uint32_t read_version(ByteReader& reader, std::string_view file) {
  const auto version = reader.read<std::uint32_t>("GGUF version");
  if (version == 2 || version == 3) return version;
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 3) {
    fail(ErrorKind::kUnsupported, file,
         fmt::format("is a big-endian GGUF file (version {}), expected little-endian", swapped));
  }
  fail(ErrorKind::kUnsupported, file, fmt::format("is GGUF version {}, expected 2 or 3", version));
}

void check_count(std::string_view what, std::uint64_t count, std::uint64_t smallest, const ByteReader& reader,
                 std::string_view file) {
  if (count > reader.remaining() / smallest) {
    fail(ErrorKind::kFormat, file,
         fmt::format("claims {} {} of at least {} bytes each, but only {} bytes are left", count, what, smallest,
                     reader.remaining()));
  }
}

std::string_view read_text(ByteReader& reader, std::string_view what) {
  const auto length = reader.read<std::uint64_t>(what);
  return as_text(reader.take(length, what));
}

std::vector<GgufEntry> read_metadata(ByteReader& reader, std::uint64_t count, std::string_view file) {
  check_count("metadata entries", count, kSmallestEntry, reader, file);
  std::vector<GgufEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view key = read_text(reader, "metadata key");
    const std::string object = quoted("key", key);
    const auto type = reader.read<std::uint32_t>(object);
    entries.push_back({key, take_gguf_value(reader, type, {file, object})});
  }
  std::ranges::sort(entries, {}, &GgufEntry::key);
  const auto twice = std::ranges::adjacent_find(entries, {}, &GgufEntry::key);
  if (twice != entries.end()) {
    fail(ErrorKind::kFormat, file, fmt::format("duplicate {}", quoted("key", twice->key)));
  }
  return entries;
}

std::uint64_t alignment_from(const std::optional<GgufValue>& value, std::string_view file) {
  if (!value) return kDefaultAlignment;
  if (value->type() != GgufType::kU32) {
    fail(ErrorKind::kFormat, file,
         fmt::format("general.alignment has type {}, expected {} (a 32-bit unsigned integer)",
                     static_cast<std::uint32_t>(value->type()), static_cast<std::uint32_t>(GgufType::kU32)));
  }
  const std::uint64_t alignment = *value->as_unsigned();
  if (!std::has_single_bit(alignment)) {
    fail(ErrorKind::kFormat, file, fmt::format("general.alignment is {}, expected a power of two", alignment));
  }
  return alignment;
}

// Position of a tensor, relative to the start of the data section.
struct Placement {
  std::uint64_t offset;
  std::uint64_t size;
};

Shape read_shape(ByteReader& reader, std::string_view object, std::string_view file) {
  const auto dimensions = reader.read<std::uint32_t>(object);
  if (dimensions > kMaxDimensions) {
    fail(ErrorKind::kFormat, file,
         fmt::format("{} has {} dimensions, expected at most {}", object, dimensions, kMaxDimensions));
  }
  Shape shape(dimensions);
  for (std::size_t& extent : shape) extent = reader.read<std::uint64_t>(object);
  std::ranges::reverse(shape);  // the file stores the innermost extent first
  return shape;
}

std::uint64_t checked_size(const StoredTensor& tensor, std::string_view object, std::string_view file) {
  const DTypeInfo& type = info(tensor.dtype);
  const std::size_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type.block_elements != 0) {
    fail(ErrorKind::kFormat, file,
         fmt::format("{} of type {} has rows of {} elements, expected a multiple of {}", object, type.name, row,
                     type.block_elements));
  }
  const auto elements = element_count(tensor.shape);
  const auto size = elements ? stored_bytes(tensor.dtype, *elements) : std::nullopt;
  if (!size) {
    fail(ErrorKind::kFormat, file,
         fmt::format("{} is {}, expected a size that fits 64 bits", object, to_string(tensor.shape)));
  }
  return *size;
}

Placement read_tensor(ByteReader& reader, StoredTensor& tensor, std::uint64_t alignment, std::string_view file) {
  tensor.name = read_text(reader, "tensor name");
  const std::string object = quoted("tensor", tensor.name);
  tensor.shape = read_shape(reader, object, file);
  const auto type = reader.read<std::uint32_t>(object);
  const auto dtype = dtype_from_ggml(type);
  if (!dtype) {
    fail(ErrorKind::kUnsupported, file, fmt::format("{} has unknown ggml type {}", object, type));
  }
  tensor.dtype = *dtype;
  const std::uint64_t size = checked_size(tensor, object, file);
  const auto offset = reader.read<std::uint64_t>(object);
  if (offset % alignment != 0) {
    fail(ErrorKind::kFormat, file,
         fmt::format("{} begins at offset {}, expected a multiple of {}", object, offset, alignment));
  }
  return {offset, size};
}

void check_names(std::span<const StoredTensor> tensors, std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) fail(ErrorKind::kFormat, file, fmt::format("duplicate {}", quoted("tensor", *twice)));
}

// All tensors lie inside the mapped file, so their addresses can be compared.
void check_overlap(std::span<const StoredTensor> tensors, std::string_view file) {
  std::vector<const StoredTensor*> by_address;
  by_address.reserve(tensors.size());
  for (const StoredTensor& tensor : tensors) {
    if (!tensor.bytes.empty()) by_address.push_back(&tensor);
  }
  std::ranges::sort(by_address, {}, [](const StoredTensor* tensor) { return tensor->bytes.data(); });
  for (std::size_t i = 1; i < by_address.size(); ++i) {
    const StoredTensor& before = *by_address[i - 1];
    const StoredTensor& after = *by_address[i];
    const auto distance = static_cast<std::size_t>(after.bytes.data() - before.bytes.data());
    if (distance < before.bytes.size()) {
      fail(ErrorKind::kFormat, file,
           fmt::format("{} overlaps {} by {} bytes", quoted("tensor", after.name), quoted("tensor", before.name),
                       before.bytes.size() - distance));
    }
  }
}

std::vector<StoredTensor> read_tensors(ByteReader& reader, std::uint64_t count, std::uint64_t alignment,
                                       std::span<const std::byte> all, std::string_view file) {
  check_count("tensors", count, kSmallestTensor, reader, file);
  std::vector<StoredTensor> tensors(static_cast<std::size_t>(count));
  std::vector<Placement> placements;
  placements.reserve(tensors.size());
  for (StoredTensor& tensor : tensors) placements.push_back(read_tensor(reader, tensor, alignment, file));
  check_names(tensors, file);

  const std::uint64_t header = reader.position();
  const std::uint64_t begin = header + (alignment - header % alignment) % alignment;
  const auto data = all.subspan(std::min<std::size_t>(begin, all.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto [offset, size] = placements[i];
    if (offset > data.size() || size > data.size() - offset) {
      fail(ErrorKind::kFormat, file,
           fmt::format("{} takes {} bytes at offset {}, but the tensor data has only {} bytes",
                       quoted("tensor", tensors[i].name), size, offset, data.size()));
    }
    tensors[i].bytes = data.subspan(offset, size);
  }
  check_overlap(tensors, file);
  return tensors;
}

}  // namespace

GgufFile GgufFile::open(const std::filesystem::path& path) {
  GgufFile gguf(MappedFile::open(path));
  reject_git_lfs_pointer(path, gguf.file_.bytes());
  const std::string file = path.string();
  ByteReader reader(gguf.file_.bytes(), file);
  check_magic(reader, file);
  gguf.version_ = read_version(reader, file);
  const auto tensor_count = reader.read<std::uint64_t>("tensor count");
  const auto entry_count = reader.read<std::uint64_t>("metadata count");
  gguf.metadata_ = read_metadata(reader, entry_count, file);
  gguf.alignment_ = alignment_from(gguf.find("general.alignment"), file);
  gguf.tensors_ = read_tensors(reader, tensor_count, gguf.alignment_, gguf.file_.bytes(), file);
  gguf.header_bytes_ = reader.position();
  return gguf;
}

std::optional<GgufValue> GgufFile::find(std::string_view key) const noexcept {
  const auto entry = std::ranges::lower_bound(metadata_, key, {}, &GgufEntry::key);
  if (entry == metadata_.end() || entry->key != key) return std::nullopt;
  return entry->value;
}

}  // namespace headscope
