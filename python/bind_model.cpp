#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>

#include "bindings.h"
#include "headscope/app/families.h"
#include "headscope/base/error.h"
#include "headscope/io/hub_cache.h"
#include "headscope/model/fingerprint.h"
#include "headscope/model/head_id.h"
#include "headscope/model/readiness.h"
#include "loaded_model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace headscope::python {
namespace {

Role parse_role(const std::string& name) {
  for (const Role role : kRoles) {
    if (name.size() == 1 && letter(role) == name[0]) return role;
  }
  throw Error(ErrorKind::kInvalidArgument, "role: found '" + printable(name, 60) + "', expected one of Q, K, V, O");
}

WeightProcessing parse_processing(const std::string& name) {
  if (name == "folded") return WeightProcessing::kFolded;
  if (name == "raw") return WeightProcessing::kRaw;
  throw Error(ErrorKind::kInvalidArgument, "weights: found '" + printable(name, 60) + "', expected one of folded, raw");
}

DType dtype_of(const ArrayIn& array, const std::string& name) {
  const nb::dlpack::dtype type = array.dtype();
  const auto is = [&](nb::dlpack::dtype_code code, int bits) {
    return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
  };
  using Code = nb::dlpack::dtype_code;
  if (is(Code::Float, 32)) return DType::kF32;
  if (is(Code::Bfloat, 16)) return DType::kBF16;
  if (is(Code::Float, 16)) return DType::kF16;
  if (is(Code::Float, 64)) return DType::kF64;
  if (is(Code::Int, 64)) return DType::kI64;
  if (is(Code::Int, 32)) return DType::kI32;
  if (is(Code::UInt, 8)) return DType::kU8;
  if (is(Code::Bool, 8)) return DType::kBool;
  throw Error(ErrorKind::kUnsupported,
              "tensor '" + printable(name) + "' has a type that is not read from memory; save the model and load it");
}

std::unique_ptr<LoadedModel> open(const std::filesystem::path& model, const std::string& revision,
                                  const std::string& family, const std::string& tower) {
  const nb::gil_scoped_release release;
  auto loaded = std::make_unique<LoadedModel>();
  loaded->model =
      std::make_shared<const Model>(Model::open(model, {.revision = revision, .family = family, .tower = tower}));
  return loaded;
}

std::unique_ptr<LoadedModel> from_arrays(const std::filesystem::path& path,
                                         const std::map<std::string, ArrayIn>& arrays, const std::string& config,
                                         const std::string& family, const std::string& tower) {
  auto loaded = std::make_unique<LoadedModel>();
  std::vector<StoredTensor> tensors;
  for (const auto& [name, array] : arrays) {
    StoredTensor tensor{.name = name, .dtype = dtype_of(array, name), .shape = {}, .bytes = {}};
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) tensor.shape.push_back(array.shape(axis));
    tensor.bytes = {static_cast<const std::byte*>(array.data()), array.nbytes()};
    tensors.push_back(std::move(tensor));
    loaded->arrays.push_back(array);
  }
  const nb::gil_scoped_release release;
  loaded->model = std::make_shared<const Model>(
      Model::from_checkpoint(Checkpoint::from_memory(path, std::move(tensors), config), family, tower));
  return loaded;
}

// The folder of a model in the Hugging Face cache, or the path itself.
std::string locate(const std::filesystem::path& model, const std::string& revision) {
  const nb::gil_scoped_release release;
  return find_model(model, revision).path.string();
}

nb::dict info(const LoadedModel& loaded) {
  const ModelInfo& about = loaded.model->info();
  nb::dict result;
  std::vector<std::string> dtypes;
  for (const DType dtype : about.dtypes) dtypes.emplace_back(headscope::info(dtype).name);
  const ModelLocation& location = loaded.model->checkpoint().location();
  result["path"] = location.path.string();
  result["repository"] = location.is_cached() ? nb::cast(location.repository) : nb::none();
  result["commit"] = location.is_cached() ? nb::cast(location.commit) : nb::none();
  result["family"] = about.family;
  result["tower"] = about.tower.empty() ? nb::none() : nb::cast(about.tower);
  result["other_towers"] = nb::cast(about.other_towers);
  result["modality"] = std::string(to_string(about.modality));
  result["causal"] = about.causal;
  result["layers"] = about.sizes.layers;
  result["heads"] = about.sizes.heads;
  result["kv_heads"] = about.sizes.kv_heads;
  result["d_model"] = about.sizes.d_model;
  result["d_head"] = about.sizes.d_head;
  result["dtypes"] = nb::cast(dtypes);
  result["position"] = std::string(to_string(about.position));
  result["norm"] = std::string(to_string(about.norm));
  result["tensors_used"] = nb::cast(about.used);
  result["tensors_ignored"] = nb::cast(about.ignored);
  result["tensors_missing"] = nb::cast(about.missing);
  result["notes"] = nb::cast(about.notes);
  return result;
}

std::vector<std::string> heads(const LoadedModel& loaded) {
  const HeadSizes& sizes = loaded.model->info().sizes;
  std::vector<std::string> names;
  for (std::size_t layer = 0; layer < sizes.layers; ++layer) {
    for (std::size_t head = 0; head < sizes.heads; ++head) names.push_back(to_string(sizes.head_of(layer, head)));
  }
  return names;
}

// [head, d_model, d_head], a view of the loaded memory, in which the columns of a head are contiguous.
ArrayOut weights(const LoadedModel& loaded, std::size_t layer, const std::string& role, const std::string& processing) {
  const Role parsed = parse_role(role);
  const WeightProcessing how = parse_processing(processing);
  std::shared_ptr<const HeadWeights> heads;
  {
    const nb::gil_scoped_release release;
    heads = std::make_shared<const HeadWeights>(loaded.model->load_heads(layer, parsed, how));
  }
  const std::size_t shape[] = {heads->heads(), heads->d_model(), heads->d_head()};
  const auto d_model = static_cast<std::int64_t>(heads->d_model());
  const std::int64_t strides[] = {d_model * static_cast<std::int64_t>(heads->d_head()), 1, d_model};
  const void* data = heads->values().data();
  return {data, 3, shape, owner_of(std::move(heads)), strides, nb::dtype<float>()};
}

nb::dict readiness(const LoadedModel& loaded) {
  nb::dict result;
  for (const Readiness& one : headscope::readiness(*loaded.model)) {
    result[one.command.c_str()] = nb::make_tuple(one.ready, one.reason);
  }
  return result;
}

}  // namespace

void bind_model(nb::module_& m) {
  m.def(
      "families",
      [] {
        return to_json(FamiliesOutcome{family_table(), {}});
      },
      "What works for each model family, as JSON.");
  m.def("locate", &locate, "model"_a, "revision"_a,
        nb::sig("def locate(model: str | os.PathLike[str], revision: str) -> str"),
        "The folder or file that a name of a model stands for, as Model.open finds it.");
  nb::class_<LoadedModel>(m, "Model", "A transformer model.")
      .def_static("open", &open, "model"_a, "revision"_a, "family"_a, "tower"_a,
                  nb::sig("def open(model: str | os.PathLike[str], revision: str, family: str, tower: str) -> Model"),
                  "Reads headers and configuration of a folder, a GGUF file or a model in the Hugging Face cache.")
      .def_static("from_arrays", &from_arrays, "path"_a, "arrays"_a, "config"_a, "family"_a, "tower"_a,
                  nb::sig("def from_arrays(path: str | os.PathLike[str], arrays: collections.abc.Mapping[str, "
                          "typing.Any], config: str, family: str, tower: str) -> Model"),
                  "Tensors by name, in place, with the text of their config.json.")
      .def("info", &info, nb::sig("def info(self) -> dict[str, typing.Any]"), "Facts from the headers.")
      .def("heads", &heads, "Names of the query heads, layer by layer.")
      .def("weights", &weights, "layer"_a, "role"_a, "weights"_a,
           nb::sig("def weights(self, layer: int, role: str, weights: str) -> numpy.typing.NDArray[numpy.float32]"),
           "[head, d_model, d_head], float32.")
      .def(
          "fingerprint", [](const LoadedModel& loaded) { return fingerprint(*loaded.model); },
          "16 hexadecimal digits that identify the checkpoint.")
      .def("readiness", &readiness, nb::sig("def readiness(self) -> dict[str, tuple[bool, str]]"),
           "Per command, whether it can run on the model, and the reason.");
}

}  // namespace headscope::python
