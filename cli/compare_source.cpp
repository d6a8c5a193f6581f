#include "cli/compare_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/map_source.h"
#include "headscope/base/error.h"
#include "headscope/io/byte_reader.h"
#include "headscope/io/json.h"
#include "headscope/io/mapped_file.h"
#include "headscope/io/path_exists.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInformativeness = "informativeness.csv";

std::vector<fs::path> input_folders(const fs::path& folder, const CompareSourceOptions& options) {
  std::vector<fs::path> folders;
  for (std::size_t i = 0; i < options.max_inputs; ++i) {
    const fs::path input = i == 0 ? folder : folder / "inputs" / std::to_string(i);
    if (!path_exists(input / (options.what + ".npy"))) break;
    folders.push_back(input);
  }
  return folders;
}

// What tells an input from others, and "text" or "image"; both empty where the maps come without a tokens.json.
struct InputIdentity {
  std::string identity;
  std::string kind;
};

InputIdentity identify(const fs::path& folder) {
  InputIdentity result;
  if (!path_exists(folder / "tokens.json")) return result;
  const JsonDocument document = JsonDocument::open(folder / "tokens.json");
  const JsonValue root = document.root();
  result.kind = printable(root.find("kind").as_string().value_or(""), 20);
  result.identity = fmt::format("{}:{}", result.kind, root.find("source").as_string().value_or(""));
  for (const JsonValue token : root.find("tokens").items()) {
    result.identity += fmt::format("\n{}", token.find("text").as_string().value_or(""));
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Role pairs and their informativeness in bins that fit the null, from the table that `relate` writes.
void add_informativeness(const fs::path& path, std::vector<FeatureSamples>& features) {
  const MappedFile file = MappedFile::open(path);
  const std::vector<std::string_view> lines = split(as_text(file.bytes()), '\n');
  const std::vector<std::string_view> header = split(lines.front(), ',');
  const auto pair = static_cast<std::size_t>(std::ranges::find(header, "pair") - header.begin());
  const auto value = static_cast<std::size_t>(std::ranges::find(header, "kl_fine") - header.begin());
  if (pair == header.size() || value == header.size()) {
    throw Error(ErrorKind::kFormat, fmt::format("{}: has no columns 'pair' and 'kl_fine'", path.string()));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> cells = split(lines[i], ',');
    double number = 0;
    const bool whole = cells.size() == header.size();
    const std::string_view text = whole ? cells[value] : std::string_view();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!whole || error != std::errc() || end != text.data() + text.size()) {
      throw Error(ErrorKind::kFormat, fmt::format("{}: line {} is not as relate writes it", path.string(), i + 1));
    }
    features.push_back({fmt::format("informativeness {}", printable(cells[pair], 8)), {}, {{number}}});
  }
}

// Axes of one element have nothing to show, and none shows more than a few thousand.
std::vector<ComparedAxis> organized_axes(Organization organization, MapSource& maps) {
  constexpr std::size_t kMax = 2048;
  std::vector<ComparedAxis> axes;
  const auto add = [&](TensorAxis axis, AxisOrganization& organized, std::vector<std::string>& names) {
    if (organized.tree.size() < 2 || organized.tree.size() > kMax) return;
    axes.push_back({std::string(to_string(axis)), std::move(organized), std::move(names)});
  };
  add(TensorAxis::kHead, organization.head, maps.tensor.head_names);
  add(TensorAxis::kQuery, organization.query, maps.query_names);
  add(TensorAxis::kKey, organization.key, maps.key_names);
  return axes;
}

}  // namespace

RunContents look_into(const fs::path& folder, const std::string& what) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such folder; expected a RUN that 'headscope capture' or 'headscope "
                                            "relate' wrote",
                                            folder.string()));
  }
  return {path_exists(folder / (what + ".npy")), path_exists(folder / kInformativeness)};
}

ComparedSource load_compared(const fs::path& folder, const RunContents& contents, const CompareSourceOptions& options,
                             const Session& session, const Context& context) {
  ComparedSource source;
  source.path = folder.string();
  source.kind = "weights";
  if (contents.maps) {
    std::vector<std::vector<SignatureFeature>> signatures;
    std::size_t fewest = 0;
    std::size_t most = 0;
    const std::vector<fs::path> folders = input_folders(folder, options);
    for (std::size_t i = 0; i < folders.size(); ++i) {
      MapSourceArgs args;
      args.source = folders[i];
      args.what = options.what;
      args.skip_first = options.skip_first;
      MapSource maps = load_maps(args, /*keep_absent=*/false, context.memory, session);
      const auto share = [&](std::size_t done) {
        return static_cast<double>(done) / static_cast<double>(folders.size());
      };
      MapSignature found = map_signature(maps.tensor, options.signature, context.part(share(i), share(i + 1)));
      signatures.push_back(std::move(found.features));
      if (i == 0) source.axes = organized_axes(std::move(found.organization), maps);
      const InputIdentity identity = identify(folders[i]);
      source.run.inputs.push_back(identity.identity);
      source.kind = identity.kind.empty() ? "maps" : identity.kind;
      source.heads = maps.tensor.heads();
      fewest = i == 0 ? maps.tensor.keys() : std::min(fewest, maps.tensor.keys());
      most = std::max(most, maps.tensor.keys());
    }
    source.inputs = folders.size();
    source.tokens = fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most);
    source.run.features = collect_features(signatures);
  }
  if (contents.weights) add_informativeness(folder / kInformativeness, source.run.features);
  return source;
}

}  // namespace headscope::cli
