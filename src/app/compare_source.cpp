#include "app/compare_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/map_source.h"
#include "headscope/apply/map_signature.h"
#include "headscope/base/error.h"
#include "headscope/io/path_exists.h"
#include "headscope/io/recognize.h"
#include "headscope/run/schema.h"
#include "headscope/run/schema/relate.h"

namespace headscope::app {
namespace {

namespace fs = std::filesystem;

OpenedRun open_run(const fs::path& path, MapKind what) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (const std::string model = recognize_model(path); !model.empty() && fs::exists(path, ignored)) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: {}", path.string(), model));
    }
    throw Error(ErrorKind::kIo, fmt::format("{}: no such folder; expected a RUN that 'headscope capture' or 'headscope "
                                            "relate' wrote",
                                            path.string()));
  }
  OpenedRun run{.path = path, .contents = std::nullopt};
  if (path_exists(path / run_files::kManifest)) run.contents.emplace(path);
  run.has_maps = path_exists(path / map_file(what));
  run.has_weights = run.contents && run.contents->has(run_files::kInformativeness.path);
  if (!run.has_maps && !run.has_weights) {
    if (const std::string model = recognize_model(path); !model.empty()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: {}", path.string(), model));
    }
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: holds neither {} nor {}; 'headscope capture' and 'headscope relate' write them",
                            path.string(), map_file(what), run_files::kInformativeness.path));
  }
  return run;
}

std::vector<fs::path> input_folders(const fs::path& path, const CompareRequest& request) {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < request.max_inputs; ++i) {
    const fs::path input = i == 0 ? path : path / input_folder(i);
    if (!path_exists(input / map_file(request.what))) break;
    folders.push_back(input);
  }
  return folders;
}

// Distinguishes an input from others; empty if nothing is known about it.
std::string identity_of(const MapDescription& maps) {
  if (maps.kind.empty() && maps.source.empty() && maps.tokens.empty()) return {};
  std::string identity = fmt::format("{}:{}", maps.kind, maps.source);
  for (const std::string& token : maps.tokens) identity += "\n" + token;
  return identity;
}

// Adds the informativeness of pairs of roles, with the bins that fit the random distribution.
void add_informativeness(const RunContents& contents, std::vector<FeatureSamples>& features) {
  const std::string name(run_files::kInformativeness.path);
  const Table table = contents.table(name);
  const auto pair = table.find("pair");
  const auto value = table.find("kl_fine");
  if (!pair || !value) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: has no columns 'pair' and 'kl_fine'", contents.where(name)));
  }
  const auto& pairs = std::get<std::vector<std::string>>(table.values(*pair));
  const auto& values = std::get<std::vector<double>>(table.values(*value));
  for (std::size_t row = 0; row < table.rows(); ++row) {
    features.push_back({fmt::format("informativeness {}", printable(pairs[row], 8)), {}, {{values[row]}}});
  }
}

// There is nothing to show of one element, and no picture shows more than a few thousand.
std::vector<ComparedAxis> organized_axes(Organization organization, MapInfo info) {
  constexpr std::size_t kMax = 2048;
  std::vector<ComparedAxis> axes;
  const auto add = [&](TensorAxis axis, AxisOrganization& organized, std::vector<std::string>& names) {
    if (organized.tree.size() < 2 || organized.tree.size() > kMax) return;
    axes.push_back({std::string(to_string(axis)), std::move(organized), std::move(names)});
  };
  add(TensorAxis::kHead, organization.head, info.head_names);
  add(TensorAxis::kQuery, organization.query, info.query_names);
  add(TensorAxis::kKey, organization.key, info.key_names);
  return axes;
}

// The maps and their coefficients.
constexpr std::size_t kCopies = 2;

// Organizes the maps of every input.
void add_maps(ComparedNetwork& network, const CompareRequest& request, const Context& context) {
  SignatureOptions options;
  options.questionnaire.iterations = request.iterations;
  options.draws = request.draws;
  options.seed = request.seed;
  const std::vector<fs::path> folders = input_folders(network.path, request);
  const auto fraction = [&](std::size_t done) {
    return static_cast<double>(done) / static_cast<double>(folders.size());
  };
  std::vector<std::vector<SignatureFeature>> signatures;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    MapSelection selection;
    selection.source.file = folders[i];
    selection.what = request.what;
    selection.skip_first = request.skip_first;
    MapSource maps = load_maps(selection, /*keep_absent=*/false, {.copies = kCopies}, context);
    MapSignature found = map_signature(
        maps.tensor, options,
        context.without_memory(kCopies * maps.tensor.values.size() * kEntryBytes + pair_memory(maps.tensor.extents))
            .part(fraction(i), fraction(i + 1)));
    signatures.push_back(std::move(found.features));
    const std::size_t tokens = maps.tensor.keys();
    network.run.inputs.push_back(identity_of(maps.description));
    network.kind = maps.description.kind.empty() ? "maps" : printable(maps.description.kind, 20);
    network.heads = maps.tensor.heads();
    network.min_tokens = i == 0 ? tokens : std::min(network.min_tokens, tokens);
    network.max_tokens = std::max(network.max_tokens, tokens);
    if (i == 0) network.axes = organized_axes(std::move(found.organization), std::move(maps.info));
  }
  network.inputs = folders.size();
  network.run.features = collect_features(signatures);
}

}  // namespace

std::vector<OpenedRun> open_runs(const CompareRequest& request) {
  std::vector<OpenedRun> runs;
  for (const fs::path& path : request.runs) runs.push_back(open_run(path, request.what));
  const auto with = std::ranges::find(runs, true, &OpenedRun::has_maps);
  const auto without = std::ranges::find(runs, false, &OpenedRun::has_maps);
  if (with != runs.end() && without != runs.end()) {
    throw Error(ErrorKind::kFormat,
                fmt::format("RUNs of different kinds: {} has no {}, {} has one; run 'headscope capture' for both",
                            without->path.string(), map_file(request.what), with->path.string()));
  }
  return runs;
}

ComparedNetwork load_network(const OpenedRun& run, const CompareRequest& request, const Context& context) {
  ComparedNetwork network;
  network.path = run.path;
  network.kind = "weights";
  if (run.has_maps) add_maps(network, request, context);
  if (run.has_weights) add_informativeness(*run.contents, network.run.features);
  return network;
}

}  // namespace headscope::app
