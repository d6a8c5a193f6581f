#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headscope/model/storage.h"

namespace headscope {

/// Location of the gate in a matrix that also holds `up`.
enum class GateRows {
  kSeparate,   ///< The gate is a matrix of its own.
  kFirstHalf,  ///< The first half of the outputs.
  kEven,       ///< Outputs 0, 2, 4, ... (gpt-oss).
};

/// Names of the matrices of a block's experts. With {e}, the number of the expert, a name is that of a module with a
/// weight and a bias; without, it is the full name of a tensor [experts, ., .]. The bias of the latter has ".bias" in
/// place of ".weight", or "_bias" at the end.
struct ExpertForm {
  std::string up = {};
  std::string gate = {};  ///< Empty unless the rows of the gate are separate.
  std::string down = {};
  GateRows gate_rows = GateRows::kSeparate;
  Storage storage = Storage::kOutIn;  ///< Of stacked matrices, unless they are packed: these are always [out, in].
};

/// The names of an MLP that is a mixture of experts: a router chooses a few of them for each token. A layer is a
/// mixture if the file has its router; else it has the plain MLP.
struct ExpertNames {
  std::vector<std::string> routers = {};  ///< Names of the router's module found in files; empty: there are no experts.
  /// Full names, found in files, of what is added to the scores, for choosing only; empty: nothing is.
  std::vector<std::string> corrections = {};
  bool correction_optional = false;  ///< A file may lack it.
  /// Config key that, when false, means that nothing is added (LFM2-MoE).
  std::string correction_key = {};
  std::vector<ExpertForm> forms = {};  ///< Forms found in files.
  std::string shared_up = {};          ///< Modules of the expert that every token uses, if the file has it ...
  std::string shared_gate = {};        ///< Empty if there is none, or if its rows are the first half of `shared_up`:
  std::string shared_down = {};
  bool shared_fused = false;       ///< ... whether they are;
  std::string shared_switch = {};  ///< ... and the one whose sigmoid its output is multiplied by.
};

/// How a router scores the experts.
enum class RouterScore {
  kSoftmax,      ///< Softmax over all experts.
  kSigmoid,      ///< Each by itself.
  kSparseMixer,  ///< Two, each a softmax over those close to the largest (arXiv 2409.12136, as Phi-MoE infers).
};

/// How a family routes: the defaults of its configuration class. The keys of config.json that override them are
/// num_experts_per_tok, n_group, topk_group, norm_topk_prob, routed_scaling_factor, swiglu_limit, swiglu_alpha and
/// router_jitter_noise.
struct RouterRules {
  RouterScore score = RouterScore::kSoftmax;
  std::size_t chosen = 2;          ///< Experts per token.
  bool normalized = true;          ///< The weights of the chosen experts are divided by their sum ...
  bool stated = false;             ///< ... unless norm_topk_prob says otherwise, which is read if this is true.
  bool normalized_in_gguf = true;  ///< The same for GGUF files that do not say.
  bool best_of_group = false;      ///< A group of experts counts as its best one, not as the sum of its best two.
  bool weighs_input = false;       ///< The input of an expert is multiplied by its weight, not its output (Llama 4).
  double scaling = 1;              ///< Factor on the weights.
  double gate_limit = 0;           ///< gpt-oss: gate and up are clamped to this, and 1 is added to up; 0: not so ...
  double gate_slope = 1.702;       ///< ... and the gate is x sigmoid(slope x).
};

}  // namespace headscope
