#include "headscope/io/npz.h"

#include <fmt/format.h>

#include "headscope/base/error.h"
#include "io/npy_header.h"

namespace headscope {
namespace {

constexpr std::string_view kSuffix = ".npy";

}  // namespace

NpzFile NpzFile::open(MappedFile file) {
  return NpzFile(ZipFile::open(std::move(file)));
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> names;
  for (const ZipEntry& entry : archive_.entries()) {
    const std::string_view name = entry.name;
    if (name.ends_with(kSuffix)) names.emplace_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return names;
}

std::optional<NpzFile::Array> NpzFile::find(std::string_view name) const {
  const ZipEntry* entry = archive_.find(fmt::format("{}{}", name, kSuffix));
  if (entry == nullptr) return std::nullopt;
  const std::string where = fmt::format("{}: array '{}'", archive_.path().string(), printable(name));
  if (!entry->deflated) return Array(parse_npy(archive_.stored_bytes(*entry), where), {});
  std::vector<std::byte> inflated = archive_.inflate(*entry);
  NpyView view = parse_npy(inflated, where);
  return Array(std::move(view), std::move(inflated));  // moving a vector does not move its elements
}

template <typename T>
void NpzWriter::add(std::string_view name, std::span<const T> values, std::span<const std::size_t> shape) {
  const std::string where = fmt::format("array '{}'", printable(name));
  const std::string header = checked_npy_header(npy_type<T>(), values.size(), shape, where);
  writer_.add(fmt::format("{}{}", name, kSuffix), {std::as_bytes(std::span(header)), std::as_bytes(values)});
}

template void NpzWriter::add<float>(std::string_view, std::span<const float>, std::span<const std::size_t>);
template void NpzWriter::add<double>(std::string_view, std::span<const double>, std::span<const std::size_t>);
template void NpzWriter::add<std::int64_t>(std::string_view, std::span<const std::int64_t>,
                                           std::span<const std::size_t>);

}  // namespace headscope
