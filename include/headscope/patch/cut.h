#pragma once

#include <span>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/io/finished_work.h"
#include "headscope/model/head_id.h"
#include "headscope/model/role.h"
#include "headscope/patch/component_cut.h"
#include "headscope/patch/head_change.h"
#include "headscope/patch/patch_edge.h"
#include "headscope/patch/readout.h"
#include "headscope/patch/recorded_pass.h"

namespace headscope {

/// Cuts edges one at a time (METHODS 12): the target's role reads norm(x - o_s + m_s) instead of norm(x), everything
/// else in its layer reads x, and later layers run on what follows. An MLP or the unembedding is a target in the same
/// way.
class CutMeter {
 public:
  /// `readouts` are by input. All arguments must outlive this object.
  CutMeter(const RecordedPass& record, const HeadChange& change, std::span<const std::vector<Readout>> readouts);

  /// The mean over all readouts without a cut.
  [[nodiscard]] double before(const Context& context = {}) const;
  /// The mean over all readouts with each edge cut, in the order of the edges.
  ///
  /// Cost: a forward pass from the target's layer on per edge; of one layer for the unembedding. Cuts of one layer run
  /// as a batch, which shares each read of the weights; layers below the cut are not run again. A cut in a decoder runs
  /// no layer of the encoder. `finished` holds the cuts that an earlier run measured and receives those of this one;
  /// null to keep nothing.
  ///
  /// \throws Error  as `check_edge` or `check_cut`, and `run_forward`.
  [[nodiscard]] std::vector<double> measure(std::span<const PatchEdge> edges, const Context& context = {},
                                            FinishedWork* finished = nullptr) const;
  [[nodiscard]] std::vector<double> measure_components(std::span<const ComponentCut> cuts, const Context& context = {},
                                                       FinishedWork* finished = nullptr) const;

 private:
  // What of its layer reads the changed stream.
  enum class Reader { kHead, kMlp, kUnembedding };
  struct Cut {
    HeadId source;
    Reader reader;
    std::size_t layer;  // first layer to run
    Role role;          // of the target, if it is a head
    std::size_t head;
    std::string id;
  };
  [[nodiscard]] Cut cut_of(const PatchEdge& edge) const;
  [[nodiscard]] Cut cut_of(const ComponentCut& cut) const;
  [[nodiscard]] std::vector<double> measure_all(std::span<const Cut> cuts, const Context& context,
                                                FinishedWork* finished) const;
  [[nodiscard]] std::size_t cuts_at_once(std::size_t layer, const Context& context) const;
  void want_readouts(ForwardOptions& pass) const;
  [[nodiscard]] std::vector<double> measure_or_restore(std::span<const Cut> batch, const Context& context,
                                                       FinishedWork* finished) const;
  [[nodiscard]] std::vector<double> measure_batch(std::span<const Cut> batch, const Context& context) const;
  [[nodiscard]] Matrix change_of(const Cut& cut, std::size_t input, const HeadWeights& writes) const;

  const RecordedPass& record_;
  const HeadChange& change_;
  std::span<const std::vector<Readout>> readouts_;
  std::size_t count_ = 0;  // of readouts
};

}  // namespace headscope
