#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings.h"
#include "headscope/app/capture.h"
#include "headscope/app/command.h"
#include "headscope/app/compare.h"
#include "headscope/app/detect.h"
#include "headscope/app/map_selection.h"
#include "headscope/app/organize.h"
#include "headscope/app/patch.h"
#include "headscope/app/prune.h"
#include "headscope/app/relate.h"
#include "headscope/app/report.h"
#include "headscope/app/softmax.h"
#include "headscope/base/error.h"
#include "headscope/relate/metric.h"
#include "headscope/relate/null_model.h"
#include "held_results.h"
#include "loaded_model.h"
#include "parameter_names.h"
#include "watch.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headscope::python {
namespace {

// An option, described for the functions that are generated from it.
struct OptionInfo {
  std::string name;
  std::string parameter;
  std::string flag;
  std::string help;  // with parameters in place of flags
  std::string kind;
  bool holds_paths = false;
  bool takes_integers = false;
  OptionValue default_value;
  std::vector<std::string> choices;
  std::string excluded;
  bool positional = false;
  bool required = false;
  bool command_line_only = false;
};

std::string name_of(OptionKind kind) {
  switch (kind) {
    case OptionKind::kFlag:
      return "flag";
    case OptionKind::kInteger:
      return "integer";
    case OptionKind::kNumber:
      return "number";
    case OptionKind::kText:
      return "text";
    case OptionKind::kPath:
      return "path";
    case OptionKind::kList:
      return "list";
  }
  return "";
}

std::vector<OptionInfo> describe_options(Command& command) {
  std::vector<OptionInfo> all;
  for (const Option& option : command.options()) {
    all.push_back({.name = option.name(),
                   .parameter = option.parameter(),
                   .flag = option.flag(),
                   .help = with_parameter_names(option.help(), &command.options(), "``"),
                   .kind = name_of(option.kind()),
                   .holds_paths = option.holds_paths(),
                   .takes_integers = option.takes_integers(),
                   .default_value = option.default_value(),
                   .choices = option.choices(),
                   .excluded = option.excluded(),
                   .positional = option.is_positional(),
                   .required = option.is_required(),
                   .command_line_only = option.is_command_line_only()});
  }
  return all;
}

// The parts of a request that take objects instead of texts; null if the request has no such part.
struct ObjectParts {
  ModelSource* model = nullptr;
  InputSources* inputs = nullptr;
  MapSelection* maps = nullptr;
  std::vector<std::size_t>* labels = nullptr;
  std::vector<std::int64_t>* signed_labels = nullptr;  // negative ones do not count
  std::vector<ModelInput>* paired = nullptr;
  std::vector<NamedEdge>* edges = nullptr;
  std::string* labels_text = nullptr;  // of classes of heads
};

template <typename Request>
ObjectParts object_parts(Request& request) {
  ObjectParts parts;
  if constexpr (requires { request.model.opened; }) parts.model = &request.model;
  if constexpr (requires { request.inputs.in_memory; }) parts.inputs = &request.inputs;
  if constexpr (requires { request.maps.mask_array; }) parts.maps = &request.maps;
  if constexpr (requires { request.paired_in_memory; }) parts.paired = &request.paired_in_memory;
  if constexpr (requires { request.edges_in_memory; }) parts.edges = &request.edges_in_memory;
  if constexpr (requires { request.labels_text; }) parts.labels_text = &request.labels_text;
  if constexpr (requires { request.labels_in_memory; }) {
    if constexpr (std::is_signed_v<typename decltype(request.labels_in_memory)::value_type>) {
      parts.signed_labels = &request.labels_in_memory;
    } else {
      parts.labels = &request.labels_in_memory;
    }
  }
  return parts;
}

ArrayInput array_input(const FloatsIn& array) {
  ArrayInput input{.values = std::span(array.data(), array.size())};
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) input.shape.push_back(array.shape(axis));
  return input;
}

void expect(bool condition, const std::string& message) {
  if (!condition) throw Error(ErrorKind::kInvalidArgument, message);
}

void add_ids(std::vector<ModelInput>& inputs, const IntegersIn& ids, const std::string& parameter) {
  for (std::size_t i = 0; i < ids.shape(0); ++i) {
    ModelInput input;
    for (const std::int64_t id : std::span(ids.data() + i * ids.shape(1), ids.shape(1))) {
      if (id < 0 || id > std::numeric_limits<std::uint32_t>::max()) {
        throw Error(ErrorKind::kFormat, parameter + ": " + std::to_string(id) + " is not a token id");
      }
      input.ids.push_back(static_cast<std::uint32_t>(id));
    }
    inputs.push_back(std::move(input));
  }
}

void add_pixels(std::vector<ModelInput>& inputs, const FloatsIn& pixels, const std::string& parameter) {
  expect(pixels.ndim() == 4, parameter + ": expected [channels, height, width] or [images, channels, height, width]");
  const std::size_t size = pixels.shape(1) * pixels.shape(2) * pixels.shape(3);
  for (std::size_t i = 0; i < pixels.shape(0); ++i) {
    const std::span<const float> values(pixels.data() + i * size, size);
    inputs.push_back({.pixels = {pixels.shape(1), pixels.shape(2), pixels.shape(3), {values.begin(), values.end()}}});
  }
}

Image image_of(const LevelsIn& levels) {
  expect(levels.ndim() == 3 && (levels.shape(2) == 1 || levels.shape(2) == 3),
         "image: expected levels [height, width, 1 or 3]");
  return {levels.shape(0), levels.shape(1), levels.shape(2), {levels.data(), levels.data() + levels.size()}};
}

/// A request that Python fills in and runs. It keeps the objects that it refers to.
class Request {
 public:
  template <typename T>
  explicit Request(std::unique_ptr<RequestCommand<T>> command)
      : parts_(object_parts(command->request)), command_(std::move(command)) {}

  [[nodiscard]] static Request make(const std::string& name);

  [[nodiscard]] Command& command() const noexcept { return *command_; }

  /// What kinds of objects the parameters take besides texts.
  [[nodiscard]] std::map<std::string, std::string> objects() const {
    std::map<std::string, std::string> kinds;
    if (parts_.model != nullptr) kinds["model"] = "model";
    if (parts_.inputs != nullptr) {
      kinds.insert({{"text", "inputs"}, {"ids", "ids"}, {"image", "images"}, {"pixels", "pixels"}});
    }
    if (parts_.maps != nullptr) kinds.insert({{"source", "maps"}, {"mask", "mask"}});
    if (parts_.labels != nullptr) kinds["labels"] = "labels";
    if (parts_.signed_labels != nullptr) kinds["labels"] = "signed_labels";
    if (parts_.labels_text != nullptr) kinds["labels"] = "head_labels";
    if (parts_.paired != nullptr) kinds["pairs_with"] = "paired";
    if (parts_.edges != nullptr) kinds["edges"] = "edges";
    return kinds;
  }

  void set(const std::string& parameter, const OptionValue& value) {
    Option* option = command_->options().find(parameter);
    expect(option != nullptr, printable(parameter) + ": is not a parameter of " + std::string(command_->info().name));
    in_own_words([&] { option->set_value(value); });
  }

  void give_model(nb::object model) {
    const auto& loaded = nb::cast<const LoadedModel&>(model);
    parts_.model->opened = loaded.model;
    parts_.model->path = loaded.model->checkpoint().location().path;
    kept_.push_back(std::move(model));
  }

  void give_ids(const IntegersIn& ids) { add_ids(parts_.inputs->in_memory, ids, "ids"); }
  void give_pixels(const FloatsIn& pixels) { add_pixels(parts_.inputs->in_memory, pixels, "pixels"); }
  void give_image(const LevelsIn& levels, const std::string& name) {
    parts_.inputs->pictures.push_back({image_of(levels), name});
  }
  void give_paired_ids(const IntegersIn& ids) { add_ids(*parts_.paired, ids, "pairs_with"); }
  void give_paired_pixels(const FloatsIn& pixels) { add_pixels(*parts_.paired, pixels, "pairs_with"); }

  void give_edges(const std::vector<std::array<std::string, 3>>& edges) {
    for (const auto& [pair, source, target] : edges) parts_.edges->push_back({pair, source, target});
  }

  void give_maps(FloatsIn maps, const std::string& description) {
    parts_.maps->source = array_input(maps);
    parts_.maps->description = description;
    arrays_.push_back(std::move(maps));
  }

  void give_mask(FloatsIn mask) {
    parts_.maps->mask_array = array_input(mask);
    arrays_.push_back(std::move(mask));
  }

  void give_head_labels(const std::string& json) { *parts_.labels_text = json; }

  void give_labels(const IntegersIn& labels) {
    const std::span all(labels.data(), labels.size());
    if (parts_.signed_labels != nullptr) {
      parts_.signed_labels->assign(all.begin(), all.end());
      return;
    }
    for (const std::int64_t label : all) {
      if (label < 0) throw Error(ErrorKind::kFormat, "labels: label " + std::to_string(label) + " is negative");
      parts_.labels->push_back(static_cast<std::size_t>(label));
    }
  }

  /// Runs the request without the interpreter's lock.
  [[nodiscard]] CommandOutput run(nb::object progress, nb::object log) {
    Watch watch(std::move(progress), std::move(log));
    std::optional<CommandOutput> output;
    {
      const nb::gil_scoped_release release;
      try {
        in_own_words([&] {
          command_->options().check_exclusions();
          output = command_->run(watch.context());
        });
      } catch (const Stopped&) {
        output.reset();
      }
    }
    if (!output) watch.rethrow();
    return std::move(*output);
  }

 private:
  // Errors name the parameters of this request. The general translation knows only which command comes first.
  template <typename Work>
  void in_own_words(const Work& work) {
    try {
      work();
    } catch (const Error& error) {
      throw Error(error.kind(), with_parameter_names(error.what(), &command_->options()));
    }
  }

  std::vector<nb::object> kept_;
  std::vector<FloatsIn> arrays_;
  ObjectParts parts_;
  std::unique_ptr<Command> command_;
};

template <typename... Requests>
struct RequestTypes {
  static std::vector<std::string> names() { return {std::string(Requests::kCommand.name)...}; }
  static std::optional<Request> make(const std::string& name) {
    std::optional<Request> request;
    const auto try_one = [&]<typename T>(std::type_identity<T>) {
      if (T::kCommand.name == name) request.emplace(std::make_unique<RequestCommand<T>>());
    };
    (try_one(std::type_identity<Requests>()), ...);
    return request;
  }
};
// The commands that are functions in Python. Instead of inspect there is Model.info; `families` has no options.
using AllRequests = RequestTypes<RelateRequest, CaptureRequest, DetectRequest, OrganizeRequest, SoftmaxRequest,
                                 ReportRequest, PruneRequest, CompareRequest, PatchRequest>;

Request Request::make(const std::string& name) {
  std::optional<Request> request = AllRequests::make(name);
  expect(request.has_value(), "there is no function '" + printable(name) + "'");
  return std::move(*request);
}

std::map<std::string, std::vector<std::string>> enumerations() {
  std::map<std::string, std::vector<std::string>> all;
  for (const MetricInfo& metric : all_metrics()) all["Metric"].emplace_back(metric.name);
  for (const Role role : kRoles) all["Role"].emplace_back(1, letter(role));
  for (const NullModel null : {NullModel::kIsotropic, NullModel::kMatched, NullModel::kSpan}) {
    all["NullModel"].emplace_back(to_string(null));
  }
  return all;
}

nb::list all_options() {
  nb::list commands;
  for (const auto& command : all_commands()) {
    commands.append(nb::make_tuple(std::string(command->info().name), nb::cast(describe_options(*command))));
  }
  return commands;
}

ArrayOut edge_weights(const std::string& metric, const FloatsIn& scores) {
  const auto parsed = parse_metric(metric);
  expect(parsed.has_value(), "there is no metric '" + printable(metric) + "'");
  auto weights = std::make_shared<std::vector<double>>();
  for (const float score : std::span(scores.data(), scores.size())) weights->push_back(similarity(*parsed, score));
  const std::size_t shape[] = {weights->size()};
  const void* data = weights->data();
  return {data,    1,
          shape,   owner_of(std::shared_ptr<const std::vector<double>>(std::move(weights))),
          nullptr, nb::dtype<double>()};
}

nb::object folder_of(const CommandOutput& output) {
  if (output.files.folder.empty()) return nb::none();
  return nb::cast(output.files.folder.string());
}

std::optional<HeldRun> memory_of(const CommandOutput& output) {
  if (output.files.memory == nullptr) return std::nullopt;
  return HeldRun{output.files.memory};
}

}  // namespace

void bind_request(nb::module_& m) {
  nb::class_<OptionInfo>(m, "Option", "An option of a command.")
      .def_ro("name", &OptionInfo::name)
      .def_ro("parameter", &OptionInfo::parameter)
      .def_ro("flag", &OptionInfo::flag)
      .def_ro("help", &OptionInfo::help)
      .def_ro("kind", &OptionInfo::kind, "flag, integer, number, text, path or list.")
      .def_ro("holds_paths", &OptionInfo::holds_paths, "Whether texts are names of files or folders.")
      .def_ro("takes_integers", &OptionInfo::takes_integers, "Whether an integer may be given instead of its digits.")
      .def_ro("default", &OptionInfo::default_value)
      .def_ro("choices", &OptionInfo::choices)
      .def_ro("excluded", &OptionInfo::excluded, "The option that must not be given together with it.")
      .def_ro("positional", &OptionInfo::positional)
      .def_ro("required", &OptionInfo::required)
      .def_ro("command_line_only", &OptionInfo::command_line_only);
  nb::class_<CommandOutput>(m, "Outcome", "What a request gave.")
      .def_ro("summary", &CommandOutput::summary, "What the command line prints.")
      .def_prop_ro("folder", &folder_of, nb::sig("def folder(self) -> str | None"), "None if results are in memory.")
      .def_prop_ro("memory", &memory_of, "The files, if they are in memory.");
  nb::class_<Request>(m, "Request", "A request of a command, with its defaults.")
      .def(
          "__init__", [](Request* self, const std::string& command) { new (self) Request(Request::make(command)); },
          "command"_a)
      .def_prop_ro("name", [](const Request& request) { return std::string(request.command().info().name); })
      .def_prop_ro("about", [](const Request& request) { return std::string(request.command().info().about); })
      .def_prop_ro("options", [](const Request& request) { return describe_options(request.command()); })
      .def_prop_ro("objects", &Request::objects, "By parameter, what it takes besides texts.")
      .def("set", &Request::set, "parameter"_a, "value"_a.none(), "Sets an option.")
      .def("give_model", &Request::give_model, "model"_a, nb::sig("def give_model(self, model: Model) -> None"))
      .def("give_ids", &Request::give_ids, "ids"_a, "Token ids, [inputs, tokens].")
      .def("give_pixels", &Request::give_pixels, "pixels"_a, "[images, channels, height, width]")
      .def("give_image", &Request::give_image, "levels"_a, "name"_a,
           "Levels from 0 to 255, [height, width, channels], and the name of their file or ''.")
      .def("give_maps", &Request::give_maps, "maps"_a, "description"_a,
           "Maps, with the text of their tokens.json or ''.")
      .def("give_mask", &Request::give_mask, "mask"_a)
      .def("give_labels", &Request::give_labels, "labels"_a)
      .def("give_head_labels", &Request::give_head_labels, "json"_a, "The text of a label file.")
      .def("give_paired_ids", &Request::give_paired_ids, "ids"_a, "Token ids of paired inputs, [inputs, tokens].")
      .def("give_paired_pixels", &Request::give_paired_pixels, "pixels"_a, "[images, channels, height, width]")
      .def("give_edges", &Request::give_edges, "edges"_a, "Names of pair, source and target.")
      .def("run", &Request::run, "progress"_a.none(), "log"_a.none(),
           nb::sig("def run(self, progress: collections.abc.Callable[[str, float], object] | None, log: "
                   "collections.abc.Callable[[str], object] | None) -> Outcome"),
           "Runs the request without the interpreter's lock. Ctrl-C cancels it.");
  m.def("functions", &AllRequests::names, "The commands that are functions.");
  m.def("all_options", &all_options, nb::sig("def all_options() -> list[tuple[str, list[Option]]]"),
        "The options of every command of the program.");
  m.def("enumerations", &enumerations, "Texts of the values of an enumeration, by its name.");
  m.def(
      "map_fingerprint", [](const FloatsIn& maps) { return fingerprint(array_input(maps)); }, "maps"_a,
      "What the manifest says about the maps that a command worked on.");
  m.def("edge_weights", &edge_weights, "metric"_a, "scores"_a,
        nb::sig("def edge_weights(metric: str, scores: numpy.typing.NDArray[numpy.float32]) -> "
                "numpy.typing.NDArray[numpy.float64]"),
        "Weights of the edges of the head graph.");
  m.def(
      "with_parameter_names", [](const std::string& text) { return with_parameter_names(text); }, "text"_a,
      "Replaces the flags of the command line in a text.");
}

}  // namespace headscope::python
