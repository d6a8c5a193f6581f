#include "app/map_array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/base/hash.h"
#include "headscope/base/memory.h"
#include "headscope/io/array_files.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;

// For an array that is decoded as a whole.
void check_size(const Shape& shape, const Context& context, const std::string& where) {
  constexpr std::size_t kCopies = 3;  // as stored, as floats, and what is selected
  const std::size_t elements = element_count(shape).value_or(std::numeric_limits<std::size_t>::max());
  require_memory(context, saturating_multiply(elements, kCopies * sizeof(float)),
                 fmt::format("{}: decoding an array of {}", where, to_string(shape)));
}

// Returns the only name, or the requested one.
std::string choose_array(const std::vector<std::string>& names, const std::string& wanted, const fs::path& path) {
  constexpr std::size_t kShown = 20;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (name == wanted) return name;
    if (shown.size() < kShown) shown.push_back(printable(name));
  }
  if (names.size() == 1 && wanted.empty()) return names.front();
  if (names.size() > kShown) shown.emplace_back("...");
  throw Error(wanted.empty() ? ErrorKind::kInvalidArgument : ErrorKind::kFormat,
              wanted.empty() ? fmt::format("{}: holds {} arrays ({}), choose one with --array", path.string(),
                                           names.size(), fmt::join(shown, ", "))
                             : fmt::format("{}: has no array '{}', only {}", path.string(), printable(wanted),
                                           fmt::join(shown, ", ")));
}

MapArray open_npz(const fs::path& path, const std::string& wanted, const Context& context) {
  const NpzFile file = NpzFile::open(path);
  const std::string name = choose_array(file.names(), wanted, path);
  const auto array = file.find(name);
  const std::string where = fmt::format("{}: array '{}'", path.string(), printable(name));
  check_size(array->view().shape, context, where);
  return {npz_source(*array, where), where};
}

MapArray open_safetensors(const fs::path& path, const std::string& wanted) {
  SafetensorsFile file = SafetensorsFile::open(path);
  std::vector<std::string> names;
  for (const StoredTensor& tensor : file.tensors()) names.push_back(tensor.name);
  const std::string name = choose_array(names, wanted, path);
  return {tensor_source(std::move(file), name), fmt::format("{}: tensor '{}'", path.string(), printable(name))};
}

}  // namespace

MapArray open_npy_array(MappedFile mapped, const Context& context) {
  const std::string where = mapped.path().string();
  NpyFile file = NpyFile::open(std::move(mapped));
  if (!file.array().in_c_order()) check_size(file.array().shape, context, where);
  return {npy_source(std::move(file), where), where};
}

MapArray open_map_array(const ArrayInput& input, const std::string& called, const std::string& wanted,
                        const Context& context) {
  if (input.values) return {ArraySource(*input.values, input.shape), called};
  const fs::path& path = input.file;
  const std::string extension = path.extension().string();
  if (extension == ".npy") return open_npy_array(MappedFile::open(path), context);
  if (extension == ".npz") return open_npz(path, wanted, context);
  if (extension == ".safetensors") return open_safetensors(path, wanted);
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: expected a folder with maps, or an .npy, .npz or .safetensors file", path.string()));
}

std::string fingerprint_of(const ArraySource& array) {
  Hash hash;
  hash.add(std::as_bytes(std::span(array.shape())));
  constexpr std::size_t kPage = 1024;  // floats
  std::array<float, kPage> page{};
  const std::size_t pages = array.size() / kPage;
  const std::size_t stride = std::max<std::size_t>(1, pages / 4096);
  for (std::size_t p = 0; p < pages; p += stride) {
    array.read(p * kPage, page);
    hash.add(std::as_bytes(std::span(page)));
  }
  const std::span<float> rest = std::span(page).first(array.size() % kPage);
  array.read(pages * kPage, rest);
  hash.add(std::as_bytes(rest));
  return hash.digits();
}

}  // namespace headscope::app
