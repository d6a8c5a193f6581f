#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headscope/app/option.h"
#include "headscope/base/context.h"
#include "headscope/base/ranks.h"
#include "headscope/base/shape.h"
#include "headscope/model/head_id.h"
#include "headscope/model/model.h"
#include "headscope/model/weight_processing.h"

namespace headscope {

// Parts that several requests have in common. Each has `describe`, which adds its options to a list.

/// The model of a request: a name to be opened, or a model that is open already.
struct ModelSource {
  std::filesystem::path path = {};
  std::string revision = {};
  std::string family = {};
  std::string tower = {};
  std::shared_ptr<const Model> opened = {};  ///< If set, used instead of opening `path`.

  /// \throws Error  as `Model::open`.
  [[nodiscard]] std::shared_ptr<const Model> open() const;
};
void describe(ModelSource& model, OptionList& options);

/// Where results go: a folder, or memory if it is empty.
struct OutputTarget {
  std::filesystem::path run = {};
  bool force = false;
};
void describe(OutputTarget& output, OptionList& options);

/// How a long command deals with an interruption.
struct Resumption {
  bool resume = true;      ///< Continue from what an interrupted run of the same command has finished.
  double save_every = 10;  ///< Seconds between saves of what is finished.
};
void describe(Resumption& resumption, OptionList& options);

/// What a request may use of the machine.
struct Resources {
  std::size_t memory = kDefaultMemory;      ///< Budget; see base/memory.h.
  std::optional<std::size_t> threads = {};  ///< Of the whole process; nothing: as it is.
  std::string device = "cpu";
  std::string precision = {};  ///< Of products on a device; empty: the device's own choice.
};
/// --memory and --threads; --device and --precision are added by the commands that can use a device.
void describe(Resources& resources, OptionList& options);
/// --threads alone, for commands without a memory budget.
void describe_threads(Resources& resources, OptionList& options);
void describe_device(Resources& resources, OptionList& options);
void describe_precision(Resources& resources, OptionList& options);

/// One head, or the heads of this index in every layer.
struct HeadPick {
  std::optional<std::size_t> layer = {};
  std::size_t head = 0;
  Block block = Block::kOnly;  ///< Of a single head.

  /// The head; only if `layer` is set.
  [[nodiscard]] HeadId head_id() const noexcept { return {*layer, head, false, block}; }
  friend bool operator==(const HeadPick&, const HeadPick&) = default;
};

/// Some layers and heads of a model; all if both are empty.
struct HeadSelection {
  std::vector<std::size_t> layers = {};
  std::vector<HeadPick> heads = {};

  [[nodiscard]] bool empty() const noexcept { return layers.empty() && heads.empty(); }
};
/// --layers 3-5,8 and --heads 0-3,7,L4H7,4.8
void describe(HeadSelection& selection, OptionList& options);
/// Returns the query heads that a selection leaves of a model, ascending, without duplicates; empty for all.
/// \throws Error  kInvalidArgument if a selected layer or head does not exist, or nothing is left.
[[nodiscard]] std::vector<HeadId> selected_heads(const HeadSelection& selection, const HeadSizes& sizes);

/// An array in a file, or in memory. The memory must outlive the request.
struct ArrayInput {
  std::filesystem::path file = {};
  std::optional<std::span<const float>> values = {};
  Shape shape = {};
};

// Text forms of values in several requests.

[[nodiscard]] const TextForm<HeadId>& head_form();       ///< L4H7, 4.7
[[nodiscard]] const TextForm<IndexRange>& range_form();  ///< 10-50, both ends included; 7
[[nodiscard]] const TextForm<std::size_t>& size_form();  ///< 8G, 512M, 65536
[[nodiscard]] const TextForm<WeightProcessing>& weights_form();

}  // namespace headscope
