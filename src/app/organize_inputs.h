#pragma once

#include <cstddef>
#include <filesystem>

#include "app/map_source.h"
#include "headscope/app/organize.h"
#include "headscope/base/context.h"

namespace headscope::app {

/// The inputs of an `organize` request, one after the other: progress, memory and controls of each. All members are
/// collective.
class InputWork {
 public:
  /// `request` and `context` must outlive the work.
  InputWork(const OrganizeRequest& request, std::size_t inputs, const Context& context)
      : request_(request), inputs_(inputs), context_(context) {}

  /// The context for organizing the maps of an input, with what is left of the memory.
  [[nodiscard]] Context of_maps(std::size_t input, const TensorShare& tensor) const;

  /// Organizes the controls of an input whose maps have been organized. `found` is used on rank 0.
  [[nodiscard]] OrganizedInput with_controls(std::size_t input, const MapSource& source, const TensorShare& tensor,
                                             const QuestionnaireOptions& options, const Organization& organization,
                                             SparsityValues found) const;

  /// Loads and organizes the maps of another input, with the options of the first one. Initial trees are used only if
  /// the lengths agree. An input that the selection does not fit, or with other heads than the first, is left out.
  void add_input(std::size_t input, const std::filesystem::path& folder, const MapInfo& first,
                 OrganizeOutcome& outcome) const;

 private:
  /// The part of the progress of one of the steps of an input: its maps, then its controls.
  [[nodiscard]] Context step(std::size_t input, std::size_t number) const;
  [[nodiscard]] std::size_t steps() const noexcept { return 1 + 2 * request_.controls; }
  /// The context of a step. Its memory excludes the maps, their coefficients, the permuted maps of a control and the
  /// matrices of pairs, as counted for the rank that holds the most.
  [[nodiscard]] Context beside_maps(std::size_t input, std::size_t number, const TensorShare& tensor) const;

  const OrganizeRequest& request_;
  std::size_t inputs_;
  const Context& context_;
};

/// What `organize` takes for maps: the maps, their coefficients, and permuted maps for controls.
[[nodiscard]] MapUse map_use(const OrganizeRequest& request) noexcept;

/// The figures of a measurement without its shuffled trees.
[[nodiscard]] SparsityValues values_of(const Sparsity& sparsity);

/// Sets the stability of the trees and the consensus tree, if there are several inputs.
void compare_inputs(OrganizeOutcome& outcome);

}  // namespace headscope::app
