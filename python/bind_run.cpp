#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <tuple>

#include "bindings.h"
#include "cli/host.h"
#include "cli/interrupt.h"
#include "cli/run.h"
#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "loaded_model.h"
#include "watch.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headscope::python {
namespace {

using FloatsIn = nb::ndarray<const float, nb::c_contig, nb::device::cpu>;
using IdsIn = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

const InMemoryFile& file_of(const InMemoryRun& run, const std::string& name) {
  const auto found = std::ranges::find(run.files, name, [](const InMemoryFile& one) { return one.file.name; });
  if (found == run.files.end()) {
    throw Error(ErrorKind::kInvalidArgument, "the result has no file '" + printable(name) + "'");
  }
  return *found;
}

std::vector<std::string> names(const InMemoryRun& run) {
  std::vector<std::string> all;
  for (const InMemoryFile& one : run.files) all.push_back(one.file.name);
  return all;
}

std::size_t size(const InMemoryRun& run) {
  std::size_t bytes = 0;
  for (const InMemoryFile& one : run.files) bytes += one.bytes->size();
  return bytes;
}

nb::bytes content(const InMemoryRun& run, const std::string& name) {
  const InMemoryFile& held = file_of(run, name);
  return nb::bytes(held.bytes->data(), held.bytes->size());
}

// The elements of an npy file, where they are.
ArrayOut array(const InMemoryRun& run, const std::string& name) {
  const InMemoryFile& held = file_of(run, name);
  const NpyView view = parse_npy(*held.bytes, name);
  using Code = nb::dlpack::dtype_code;
  const nb::dlpack::dtype type{static_cast<std::uint8_t>(view.type.kind == 'f' ? Code::Float : Code::Int),
                               static_cast<std::uint8_t>(8 * view.type.size), 1};
  return {view.bytes.data(), view.shape.size(), view.shape.data(), owner_of(held.bytes), nullptr, type};
}

nb::dict about(const InMemoryRun& run, const std::string& name) {
  const RunFile& file = file_of(run, name).file;
  nb::dict result;
  result["kind"] = file.kind;
  result["about"] = file.about;
  result["shape"] = nb::cast(file.shape);
  result["dtype"] = file.dtype;
  result["axes"] = nb::cast(file.axes);
  return result;
}

using FileTuple =
    std::tuple<std::string, std::string, std::string, Shape, std::string, std::vector<std::string>, nb::bytes>;

// What was read from a folder, to be written to another one.
InMemoryRun make_run(const std::string& name, const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& identity,
                     const std::map<std::string, std::string>& circumstances, const std::vector<FileTuple>& files) {
  InMemoryRun run{{name, arguments, identity, circumstances}, {}};
  for (const auto& [file, kind, text, shape, dtype, axes, bytes] : files) {
    const std::span<const std::byte> from(static_cast<const std::byte*>(bytes.data()), bytes.size());
    run.files.push_back({{.name = file, .kind = kind, .about = text, .shape = shape, .dtype = dtype, .axes = axes},
                         std::make_shared<const std::vector<std::byte>>(from.begin(), from.end())});
  }
  return run;
}

std::vector<ModelInput> ids_of(const IdsIn& array, const std::string& name) {
  std::vector<ModelInput> inputs;
  for (std::size_t i = 0; i < array.shape(0); ++i) {
    ModelInput input;
    for (std::size_t j = 0; j < array.shape(1); ++j) {
      const std::int64_t id = array(i, j);
      if (id < 0 || id > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorKind::kFormat, name + ": id " + std::to_string(id) + " is no token id");
      }
      input.ids.push_back(static_cast<std::uint32_t>(id));
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

std::vector<ModelInput> pixels_of(const FloatsIn& array, const std::string& name) {
  if (array.ndim() != 4) {
    throw Error(ErrorKind::kInvalidArgument, name + ": expected pixels [images, channels, height, width]");
  }
  std::vector<ModelInput> inputs;
  const std::size_t size = array.shape(1) * array.shape(2) * array.shape(3);
  for (std::size_t i = 0; i < array.shape(0); ++i) {
    const std::span<const float> values(array.data() + i * size, size);
    inputs.push_back({.pixels = {array.shape(1), array.shape(2), array.shape(3), {values.begin(), values.end()}}});
  }
  return inputs;
}

// What the words of a command line may name besides files.
struct Given {
  const LoadedModel* model = nullptr;
  std::map<std::string, FloatsIn> arrays;
  std::map<std::string, std::string> tokens;
  std::map<std::string, IdsIn> ids;
  std::map<std::string, FloatsIn> pixels;
};

cli::Host host_of(const Given& given) {
  cli::Host host;
  if (given.model != nullptr) host.model = given.model->model;
  for (const auto& [name, values] : given.arrays) {
    cli::GivenArray& array = host.arrays[name];
    array.values = {values.data(), values.size()};
    for (std::size_t axis = 0; axis < values.ndim(); ++axis) array.shape.push_back(values.shape(axis));
    if (const auto found = given.tokens.find(name); found != given.tokens.end()) array.tokens = found->second;
  }
  for (const auto& [name, ids] : given.ids) host.inputs[name] = ids_of(ids, name);
  for (const auto& [name, pixels] : given.pixels) host.inputs[name] = pixels_of(pixels, name);
  return host;
}

// Runs a command line inside this process: results stay in memory unless a folder is meant. Gives what the command
// wrote and what it printed.
std::tuple<InMemoryRun, std::string> run_command(const std::vector<std::string>& words, const LoadedModel* model,
                                                 std::map<std::string, FloatsIn> arrays,
                                                 std::map<std::string, std::string> tokens,
                                                 std::map<std::string, IdsIn> ids,
                                                 std::map<std::string, FloatsIn> pixels, bool in_memory,
                                                 nb::object progress) {
  const Given given{model, std::move(arrays), std::move(tokens), std::move(ids), std::move(pixels)};
  cli::Host host = host_of(given);
  InMemoryRun held;
  if (in_memory) host.held = &held;
  Watch watch(std::move(progress));
  host.watch = [&](std::string_view what, double share) { watch.progress(what, share); };
  std::vector<const char*> argv = {"headscope"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  std::ostringstream out;
  std::ostringstream err;
  bool stopped = false;
  {
    const nb::gil_scoped_release release;
    const cli::HostInterrupts interrupts([&] { watch.check(); });
    cli::Session session{.out = out, .err = err, .terminal = false, .quiet = true, .host = &host};
    try {
      cli::run_or_throw(static_cast<int>(argv.size()), argv.data(), session);
    } catch (const Stopped&) {
      stopped = true;
    }
  }
  if (stopped) watch.rethrow();
  return {std::move(held), out.str()};
}

}  // namespace

void bind_run(nb::module_& m) {
  nb::class_<InMemoryRun>(m, "Run", "What a command wrote, in memory: files by name.")
      .def_static("of", &make_run, "name"_a, "arguments"_a, "identity"_a, "circumstances"_a, "files"_a)
      .def("names", &names, "Names of the files.")
      .def("size", &size, "Bytes of all of them.")
      .def("content", &content, "name"_a, "A file's bytes.")
      .def("array", &array, "name"_a, nb::sig("def array(self, name: str) -> numpy.typing.NDArray[typing.Any]"),
           "An .npy file's array, in place.")
      .def("about", &about, "name"_a, nb::sig("def about(self, name: str) -> dict[str, typing.Any]"),
           "What the manifest says of a file.")
      .def_prop_ro("command", [](const InMemoryRun& run) { return run.command.name; })
      .def_prop_ro("identity", [](const InMemoryRun& run) { return run.command.identity; })
      .def(
          "save",
          [](const InMemoryRun& run, const std::filesystem::path& path, bool force) {
            const nb::gil_scoped_release release;
            save_run(run, path, force);
          },
          "path"_a, "force"_a, nb::sig("def save(self, path: str | os.PathLike[str], force: bool) -> None"),
          "Writes the files to a folder of results, as the command would have.");
  m.def("run_command", &run_command, "words"_a, "model"_a.none(), "arrays"_a, "tokens"_a, "ids"_a, "pixels"_a,
        "in_memory"_a, "progress"_a.none(),
        "Runs a command line inside this process; gives what it wrote and what it printed.");
}

}  // namespace headscope::python
