#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "headscope/forward/forward.h"
#include "headscope/io/json.h"
#include "headscope/io/npz.h"
#include "headscope/model/role.h"
#include "headscope/patch/cut.h"
#include "headscope/patch/head_change.h"
#include "headscope/patch/readout.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope::test {

inline const std::filesystem::path kPatchCases = std::filesystem::path(HEADSCOPE_SOURCE_DIR) / "tests/golden/patch";

/// The names of all cases that have a file.
inline std::vector<std::string> patch_cases(const std::string& file = "expected.npz") {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kPatchCases)) {
    if (std::filesystem::exists(entry.path() / file)) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// The tower, or the stage, that a case is about; empty for models with one.
inline std::string tower_of(const std::string& name) {
  const JsonDocument about = JsonDocument::open(kPatchCases / name / "case.json");
  return std::string(about.root().find("tower").as_string().value_or(""));
}

/// In the order of the golden arrays.
inline constexpr std::array kReplacements = {Replacement::kMean, Replacement::kZero, Replacement::kPair};
inline constexpr std::array kReadingRoles = {Role::kQ, Role::kK, Role::kV};

/// A model of tests/golden/patch, its inputs, and what PyTorch computed with them.
class PatchCase {
 public:
  explicit PatchCase(const std::string& name)
      : model_(Model::open(kPatchCases / name, {.tower = tower_of(name)})),
        file_(NpzFile::open(kPatchCases / name / "expected.npz")) {
    if (file_.find("pixels")) {
      inputs = images("pixels");
      paired = images("paired_pixels");
    } else if (file_.find("features")) {
      inputs = recordings("features");
      paired = recordings("paired_features");
    } else {
      inputs = texts("ids", "lengths");
      paired = texts("paired_ids", "lengths");
    }
    if (file_.find("target_ids")) {
      const std::vector<ModelInput> targets = texts("target_ids", "target_lengths");
      for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].target = paired[i].target = targets[i].ids;
    }
    losses.resize(inputs.size());
    differences.resize(inputs.size());
    const std::vector<std::int64_t> all = integers("readouts");
    for (std::size_t i = 0; i < all.size(); i += 4) {
      const auto input = static_cast<std::size_t>(all[i]);
      const Readout readout{static_cast<std::size_t>(all[i + 1]), static_cast<std::uint32_t>(all[i + 2]), {}};
      losses[input].push_back(readout);
      differences[input].push_back({readout.row, readout.answer, static_cast<std::uint32_t>(all[i + 3])});
    }
  }

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const HeadSizes& sizes() const { return model_.info().sizes; }

  /// Mean over the readouts without a cut.
  [[nodiscard]] double before(bool loss) const { return numbers("before")[loss ? 0 : 1]; }

  /// One array for one replacement, sources x targets: `kind` is screen, loss or difference.
  [[nodiscard]] std::vector<double> expected(const std::string& kind, Role role, std::size_t replacement) const {
    const std::vector<double> all = numbers(kind + "_" + letter(role));
    const std::size_t size = all.size() / kReplacements.size();
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(replacement * size);
    return {begin, begin + static_cast<std::ptrdiff_t>(size)};
  }

  /// All edges into a role, and the index of each in the array of `expected`.
  [[nodiscard]] std::vector<PatchEdge> edges(Role role) const {
    std::vector<PatchEdge> all;
    for (std::size_t row = 0; row < sizes().layers * sizes().heads; ++row) {
      for (std::size_t column = 0; column < columns(role); ++column) {
        if (const auto edge = edge_at(role, row, column, sizes())) all.push_back(*edge);
      }
    }
    return all;
  }
  [[nodiscard]] std::size_t index(const PatchEdge& edge) const {
    return row_of(edge, sizes()) * columns(edge.role) + column_of(edge, sizes());
  }
  [[nodiscard]] std::size_t targets(Role role) const { return role == Role::kQ ? sizes().heads : sizes().kv_heads; }
  /// Targets of all layers.
  [[nodiscard]] std::size_t columns(Role role) const { return targets_before(sizes().layers, role, sizes()); }

  /// Numbers of another file beside the golden one.
  [[nodiscard]] static std::vector<double> read(const NpzFile& file, const std::string& name) {
    return npy_values<double>(file.find(name).value().view(), name);
  }

  std::vector<ModelInput> inputs;
  std::vector<ModelInput> paired;
  std::vector<std::vector<Readout>> losses;  // by input
  std::vector<std::vector<Readout>> differences;

 private:
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& name) const {
    return npy_values<std::int64_t>(file_.find(name).value().view(), name);
  }
  [[nodiscard]] std::vector<double> numbers(const std::string& name) const { return read(file_, name); }

  [[nodiscard]] std::vector<ModelInput> texts(const std::string& name, const std::string& lengths) const {
    const std::vector<std::int64_t> ids = integers(name);
    std::vector<ModelInput> all;
    std::size_t first = 0;
    for (const std::int64_t length : integers(lengths)) {
      ModelInput& input = all.emplace_back();
      for (const std::size_t end = first + static_cast<std::size_t>(length); first < end; ++first) {
        input.ids.push_back(static_cast<std::uint32_t>(ids[first]));
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<ModelInput> images(const std::string& name) const {
    const auto array = file_.find(name);
    const Shape& shape = array->view().shape;
    const std::vector<float> values = npy_values<float>(array->view(), name);
    const std::size_t size = shape[1] * shape[2] * shape[3];
    std::vector<ModelInput> all;
    for (std::size_t i = 0; i < shape[0]; ++i) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * size);
      all.push_back({.pixels = {shape[1], shape[2], shape[3],
                                std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(size))}});
    }
    return all;
  }

  [[nodiscard]] std::vector<ModelInput> recordings(const std::string& name) const {
    const auto array = file_.find(name);
    const Shape& shape = array->view().shape;
    const std::vector<float> values = npy_values<float>(array->view(), name);
    std::vector<ModelInput> all(shape[0]);
    for (std::size_t i = 0; i < shape[0]; ++i) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * shape[1] * shape[2]);
      all[i].audio = {shape[1], shape[2], {begin, begin + static_cast<std::ptrdiff_t>(shape[1] * shape[2])}};
    }
    return all;
  }

  Model model_;
  NpzFile file_;
};

}  // namespace headscope::test
