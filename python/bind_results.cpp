#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <tuple>

#include "bindings.h"
#include "headscope/base/error.h"
#include "headscope/io/npy.h"
#include "headscope/run/run_contents.h"
#include "held_results.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headscope::python {
namespace {

template <typename T>
ArrayOut column_in_place(const HeldTable& held, const std::vector<T>& values, nb::dlpack::dtype type) {
  const std::size_t shape[] = {values.size()};
  return {values.data(), 1, shape, owner_of(held.table), nullptr, type};
}

ArrayOut as_floats(const std::vector<double>& values) {
  auto floats = std::make_shared<const std::vector<float>>(values.begin(), values.end());
  const std::size_t shape[] = {floats->size()};
  const void* data = floats->data();
  return {data, 1, shape, owner_of(std::move(floats)), nullptr, nb::dtype<float>()};
}

// Texts as a list of str, others as an array: in place, except float32, which a table stores as float64.
nb::object column(const HeldTable& held, const std::string& name) {
  const auto index = held.table->find(name);
  if (!index) throw Error(ErrorKind::kInvalidArgument, "the table has no column '" + printable(name) + "'");
  const ColumnValues& values = held.table->values(*index);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&values)) {
    nb::list list;
    // Texts come from files, too: what is not UTF-8 becomes U+FFFD.
    for (const std::string& text : *texts) {
      list.append(nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace")));
    }
    return list;
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&values)) {
    return nb::cast(column_in_place(held, *integers, nb::dtype<std::int64_t>()));
  }
  if (const auto* flags = std::get_if<std::vector<std::uint8_t>>(&values)) {
    return nb::cast(column_in_place(held, *flags, nb::dtype<bool>()));
  }
  const auto& numbers = std::get<std::vector<double>>(values);
  if (held.table->columns()[*index].type == ColumnType::kFloat) return nb::cast(as_floats(numbers));
  return nb::cast(column_in_place(held, numbers, nb::dtype<double>()));
}

std::vector<std::string> column_names(const HeldTable& held) {
  std::vector<std::string> names;
  for (const ColumnSpec& spec : held.table->columns()) names.push_back(spec.name);
  return names;
}

const InMemoryFile& file_of(const HeldRun& held, const std::string& name) {
  const auto found = std::ranges::find(held.run->files, name, [](const InMemoryFile& one) { return one.file.name; });
  if (found == held.run->files.end()) {
    throw Error(ErrorKind::kInvalidArgument, "the result has no file '" + printable(name) + "'");
  }
  return *found;
}

std::vector<std::string> file_names(const HeldRun& held) {
  std::vector<std::string> all;
  for (const InMemoryFile& one : held.run->files) all.push_back(one.file.name);
  return all;
}

// Of files that are not tables.
std::size_t size(const HeldRun& held) {
  std::size_t bytes = 0;
  for (const InMemoryFile& one : held.run->files) bytes += one.bytes ? one.bytes->size() : 0;
  return bytes;
}

nb::bytes content(const HeldRun& held, const std::string& name) {
  const InMemoryFile& file = file_of(held, name);
  if (!file.table) return nb::bytes(file.bytes->data(), file.bytes->size());
  const std::string text = file.table->csv();
  return nb::bytes(text.data(), text.size());
}

HeldTable table_in_memory(const HeldRun& held, const std::string& name) {
  const InMemoryFile& file = file_of(held, name);
  if (!file.table) throw Error(ErrorKind::kInvalidArgument, "'" + printable(name) + "' is not a table");
  return {file.table};
}

// The elements of an npy file, in place.
ArrayOut array(const HeldRun& held, const std::string& name) {
  const InMemoryFile& file = file_of(held, name);
  if (!file.bytes) throw Error(ErrorKind::kInvalidArgument, "'" + printable(name) + "' is not an array");
  const NpyView view = parse_npy(*file.bytes, name);
  using Code = nb::dlpack::dtype_code;
  const nb::dlpack::dtype type{static_cast<std::uint8_t>(view.type.kind == 'f' ? Code::Float : Code::Int),
                               static_cast<std::uint8_t>(8 * view.type.size), 1};
  return {view.bytes.data(), view.shape.size(), view.shape.data(), owner_of(file.bytes), nullptr, type};
}

using FileTuple =
    std::tuple<std::string, std::string, std::string, Shape, std::string, std::vector<std::string>, nb::bytes>;

// Files that Python made.
HeldRun make_run(const std::string& command, const std::map<std::string, std::string>& identity,
                 const std::vector<FileTuple>& files) {
  auto run = std::make_shared<InMemoryRun>();
  run->command = {.name = command, .arguments = {command}, .identity = identity, .circumstances = {}};
  for (const auto& [file, kind, text, shape, dtype, axes, bytes] : files) {
    const std::span<const std::byte> from(static_cast<const std::byte*>(bytes.data()), bytes.size());
    run->files.push_back({{.name = file, .kind = kind, .about = text, .shape = shape, .dtype = dtype, .axes = axes},
                          std::make_shared<const std::vector<std::byte>>(from.begin(), from.end())});
  }
  return {std::move(run)};
}

nb::object to_python(JsonValue value) {
  switch (value.kind()) {
    case JsonValue::Kind::kNull:
      return nb::none();
    case JsonValue::Kind::kBool:
      return nb::bool_(*value.as_bool());
    case JsonValue::Kind::kInteger:
      if (const auto integer = value.as_unsigned()) return nb::int_(*integer);
      return nb::int_(static_cast<std::int64_t>(*value.as_number()));
    case JsonValue::Kind::kNumber:
      return nb::float_(*value.as_number());
    case JsonValue::Kind::kString:
      return nb::str(value.as_string()->data(), value.as_string()->size());
    case JsonValue::Kind::kArray: {
      nb::list list;
      for (const JsonValue item : value.items()) list.append(to_python(item));
      return list;
    }
    case JsonValue::Kind::kObject: {
      nb::dict dict;
      for (const auto [key, member] : value.members()) dict[nb::str(key.data(), key.size())] = to_python(member);
      return dict;
    }
  }
  return nb::none();
}

HeldTable table_in_folder(const RunContents& contents, const std::string& name) {
  const nb::gil_scoped_release release;
  return {std::make_shared<const Table>(contents.table(name))};
}

}  // namespace

void bind_results(nb::module_& m) {
  nb::class_<HeldTable>(m, "Table", "A table with typed columns.")
      .def_prop_ro("names", &column_names, "Names of the columns.")
      .def("__len__", [](const HeldTable& held) { return held.table->rows(); })
      .def("column", &column, "name"_a,
           nb::sig("def column(self, name: str) -> list[str] | numpy.typing.NDArray[typing.Any]"),
           "A column: text as a list, integers as int64, integers that may be missing as float64 with NaN, float32, "
           "float64, flags as bool.");
  nb::class_<HeldRun>(m, "Run", "The files that a command wrote, in memory.")
      .def_static("of", &make_run, "command"_a, "identity"_a, "files"_a, "Files that Python made.")
      .def("names", &file_names, "Names of the files.")
      .def(
          "verdict", [](const HeldRun& held) { return held.run->command.verdict; },
          "The sentences that the command concluded with.")
      .def("size", &size, "Bytes of the files that are not tables.")
      .def("content", &content, "name"_a, "The bytes that the file has on disk.")
      .def("table", &table_in_memory, "name"_a)
      .def("array", &array, "name"_a, nb::sig("def array(self, name: str) -> numpy.typing.NDArray[typing.Any]"),
           "The array of an .npy file, in place.")
      .def(
          "save",
          [](const HeldRun& held, const std::filesystem::path& path, bool force) {
            const nb::gil_scoped_release release;
            save_run(*held.run, path, force);
          },
          "path"_a, "force"_a, nb::sig("def save(self, path: str | os.PathLike[str], force: bool) -> None"),
          "Writes the files to a folder of results, as the command would have.");
  nb::class_<RunContents>(m, "RunContents", "A folder of results, as described by its manifest.")
      .def(nb::init<std::filesystem::path>(), "folder"_a,
           nb::sig("def __init__(self, folder: str | os.PathLike[str]) -> None"))
      .def(
          "manifest", [](const RunContents& contents) { return to_python(contents.manifest()); },
          nb::sig("def manifest(self) -> dict[str, typing.Any]"), "The contents of manifest.json.")
      .def("table", &table_in_folder, "name"_a, "A table with the column types of the schema.")
      .def(
          "save",
          [](const RunContents& contents, const std::string& command, const std::filesystem::path& path, bool force) {
            const nb::gil_scoped_release release;
            save_run(contents, command, path, force);
          },
          "command"_a, "path"_a, "force"_a,
          nb::sig("def save(self, command: str, path: str | os.PathLike[str], force: bool) -> None"),
          "Writes what one command left to another folder.");
}

}  // namespace headscope::python
