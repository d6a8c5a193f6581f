#include "headscope/app/relate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "app/device_choice.h"
#include "app/resumable.h"
#include "app/run_output.h"
#include "app/shared_work.h"
#include "headscope/base/error.h"
#include "headscope/base/hash.h"
#include "headscope/base/memory.h"
#include "headscope/linalg/kernels.h"
#include "headscope/model/fingerprint.h"
#include "headscope/model/vocabulary.h"
#include "headscope/relate/finished_blocks.h"

namespace headscope {
namespace {

using namespace app;

TextForm<RolePair> pair_form() {
  std::vector<std::string> names = {"all"};
  for (const RolePair& pair : all_role_pairs()) names.push_back(to_string(pair));
  return {.parse = [](const std::string& text) -> std::optional<std::vector<RolePair>> {
            if (text == "all") return all_role_pairs();
            const auto pair = parse_role_pair(text);
            if (!pair) return std::nullopt;
            return std::vector{*pair};
          },
          .format = [](const RolePair& pair) { return to_string(pair); },
          .expected = "a pair of the roles Q, K, V, O such as OQ, or all",
          .examples = std::move(names)};
}

TextForm<Metric> metric_form() {
  std::vector<std::pair<Metric, std::string>> names;
  for (const MetricInfo& metric : all_metrics()) names.emplace_back(metric.metric, metric.name);
  return named_values(std::move(names));
}

TextForm<NullModel> null_form() {
  std::vector<std::pair<NullModel, std::string>> names;
  for (const NullModel null : {NullModel::kIsotropic, NullModel::kMatched, NullModel::kSpan}) {
    names.emplace_back(null, to_string(null));
  }
  return named_values(std::move(names));
}

TextForm<GraphNodes> nodes_form() {
  return named_values<GraphNodes>({{GraphNodes::kHeads, "heads"},
                                   {GraphNodes::kRotaryKey, "rotary-key"},
                                   {GraphNodes::kMlp, "mlp"},
                                   {GraphNodes::kEmbedding, "embedding"},
                                   {GraphNodes::kPosition, "position"},
                                   {GraphNodes::kUnembedding, "unembedding"}});
}

ComponentChoice components_of(const RelateRequest& request) {
  const auto has = [&](GraphNodes nodes) { return std::ranges::find(request.nodes, nodes) != request.nodes.end(); };
  if (!has(GraphNodes::kHeads)) {
    throw Error(ErrorKind::kInvalidArgument, "--nodes: expected heads among the nodes, such as heads,mlp");
  }
  if (request.experts == ExpertNodes::kEach && !has(GraphNodes::kMlp)) {
    throw Error(ErrorKind::kInvalidArgument, "--experts: expected mlp among --nodes, such as heads,mlp");
  }
  return {.rotary_key = has(GraphNodes::kRotaryKey),
          .mlp = has(GraphNodes::kMlp),
          .each_expert = request.experts == ExpertNodes::kEach,
          .embedding = has(GraphNodes::kEmbedding),
          .position = has(GraphNodes::kPosition),
          .unembedding = has(GraphNodes::kUnembedding)};
}

RelateOptions relate_options(const RelateRequest& request) {
  if (request.max_q && request.top != RelateRequest{}.top) {
    throw Error(ErrorKind::kInvalidArgument,
                "--top keeps a number of edges, and --max-q all up to a level: give one of the two");
  }
  RelateOptions options;
  options.pairs = request.pairs;
  options.metrics = request.metrics;
  options.nulls = request.nulls;
  options.top = request.top;
  if (request.max_q) options.q_level = request.max_q;
  options.matched = {.draws = request.draws, .seed = request.seed};
  options.bootstrap.seed = request.seed;
  options.sensitivity = request.sensitivity;
  options.affinity.weights = request.weights;
  options.affinity.earlier_only = request.earlier_only;
  options.affinity.layers = request.selection.layers;
  for (const HeadPick& pick : request.selection.heads) {
    if (pick.layer) {
      options.affinity.named_heads.push_back(pick.head_id());
    } else {
      options.affinity.heads.push_back(pick.head);
    }
  }
  return options;
}

// The roles in which heads read what other components write.
std::vector<Role> reading_roles(const RelateRequest& request) {
  std::vector<Role> roles;
  for (const Role role : {Role::kQ, Role::kK, Role::kV}) {
    if (std::ranges::find(request.pairs, RolePair{Role::kO, role}) != request.pairs.end()) roles.push_back(role);
  }
  return roles;
}

bool has_labels(const RelateRequest& request) {
  return !request.labels.empty() || !request.labels_text.empty();
}

HeadLabels read_labels(const RelateRequest& request) {
  return request.labels_text.empty() ? load_labels(request.labels) : HeadLabels::parse(request.labels_text, "--labels");
}

RunCommand describe_run(const RelateRequest& request, const Model& model, const std::string& seen,
                        const AffinityEngine& engine) {
  RunCommand command = describe_command(request);
  command.identity["engine"] = engine.name();
  if (!request.labels_text.empty()) {
    Hash hash;
    hash.add(std::string_view(request.labels_text));
    command.identity["labels_contents"] = hash.digits();
  }
  describe_resources(command, request.resources);
  describe_model(command, model, seen);
  return command;
}

// What determines the bits of a block of affinities, besides its metric, roles and layers. Bits differ between
// processors for which BLAS has different kernels.
std::string key_of_blocks(const RelateRequest& request, const Model& model, const std::string& seen,
                          const AffinityEngine& engine) {
  RelateRequest copy = request;
  const std::map<std::string, std::string> identity = options_of(copy).identity();
  const std::string family = model.info().family_overridden ? " as " + model.info().family : "";
  const std::string tower = model.info().tower.empty() ? "" : ", tower " + model.info().tower;
  return fmt::format("model {}{}{}; weights {}; layers {}; heads {}; engine {}; kernels {}; version {}", seen, family,
                     tower, identity.at("weights"), identity.at("layers"), identity.at("heads"), engine.name(),
                     kernel_name(), version());
}

// The matrix of token vectors; null if the model has none.
const StoredTensor* token_matrix(const RelateRequest& request, const Model& model) {
  const bool unembedding = request.tokens_from == TokenMatrix::kUnembedding;
  return model.checkpoint().find(unembedding ? model.info().unembedding : model.info().embedding);
}

// What token profiles take besides bases and scores: the vocabulary and the profiles, with the table written of them.
std::size_t token_memory(const RelateRequest& request, const Model& model) {
  constexpr std::size_t kPerToken = 256;
  constexpr std::size_t kPerProfiledToken = 512;
  const StoredTensor* matrix = token_matrix(request, model);
  if (request.tokens_for == ProfiledSubspaces::kNone || request.tokens == 0 || matrix == nullptr) return 0;
  const HeadSizes& sizes = model.info().sizes;
  const std::size_t vocabulary = matrix->shape.front();
  std::size_t subspaces = 2 * request.pairs.size() * (request.max_q ? 0 : request.top) + 64;
  const std::size_t all = saturating_multiply(sizes.layers, 4 * sizes.heads);
  if (request.tokens_for == ProfiledSubspaces::kAll) subspaces = all;
  return saturating_add(saturating_multiply(vocabulary, kPerToken),
                        saturating_multiply(saturating_multiply(std::min(subspaces, all), kPerProfiledToken),
                                            std::min(request.tokens, vocabulary)));
}

void check_token_memory(const RelateRequest& request, const Model& model, const Context& context) {
  const std::size_t bytes = token_memory(request, model);
  if (bytes > 0) require_memory(context, bytes, "relate: ranking tokens");
}

// Token profiles of the requested subspaces. A model without a vocabulary, or with one that does not fit the residual
// stream, gives a warning instead.
void add_tokens(const RelateRequest& request, const Model& model, const Context& context, RelateOutcome& outcome) {
  if (request.tokens_for == ProfiledSubspaces::kNone || request.tokens == 0) return;
  const bool unembedding = request.tokens_from == TokenMatrix::kUnembedding;
  const std::string& matrix = unembedding ? model.info().unembedding : model.info().embedding;
  const auto vocabulary = Vocabulary::load(model.checkpoint());
  if (matrix.empty() || !vocabulary) {
    outcome.result.warnings.push_back(fmt::format("no token profiles: the model has no {}",
                                                  !matrix.empty() ? "vocabulary (tokenizer.json, vocab.json)"
                                                  : unembedding   ? "unembedding"
                                                                  : "embedding"));
    return;
  }
  const HeadSizes& sizes = model.info().sizes;
  std::vector<HeadRole> subspaces = request.tokens_for == ProfiledSubspaces::kAll
                                        ? all_subspaces(outcome.result, sizes)
                                        : noteworthy_subspaces(outcome.result, sizes);
  // The unembedding reads the decoder, so it has nothing in common with what is in the encoder.
  std::erase_if(subspaces, [&](const HeadRole& one) {
    return unembedding && stream_of(one.head.block, one.role) == Stream::kEncoder;
  });
  TokenProfileOptions options;
  options.weights = request.weights;
  options.matrix = request.tokens_from;
  options.top = request.tokens;
  options.vocabulary_size = vocabulary->size();
  try {
    for (const TokenProfile& profile : token_profiles(model, subspaces, options, context)) {
      if (profile.rank == 0) continue;  // no token is closer to nothing than another
      for (std::size_t i = 0; i < profile.top.size(); ++i) {
        const TokenScore& token = profile.top[i];
        outcome.tokens.push_back({profile.subspace, i + 1, token.token, vocabulary->token(token.token), token.score,
                                  token.log10_p, token.q});
      }
    }
    outcome.has_tokens = true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    outcome.result.warnings.push_back(fmt::format("no token profiles: {}", error.what()));
  }
}

// The strongest neurons of the requested subspaces, with token profiles if the model has a vocabulary.
void add_neurons(const RelateRequest& request, const Model& model, const Context& context, RelateOutcome& outcome) {
  if (request.neurons == 0) return;
  const HeadSizes& sizes = model.info().sizes;
  const std::vector<HeadRole> subspaces = request.tokens_for == ProfiledSubspaces::kAll
                                              ? all_subspaces(outcome.result, sizes)
                                              : noteworthy_subspaces(outcome.result, sizes);
  outcome.neurons = strongest_neurons(model, subspaces, {request.weights, request.neurons}, context);
  const auto vocabulary = Vocabulary::load(model.checkpoint());
  if (!outcome.has_tokens || !vocabulary) return;
  std::set<NeuronId> listed;
  for (const HeadNeurons& one : outcome.neurons) {
    for (const NeuronScore& score : one.top) listed.insert(score.neuron);
  }
  TokenProfileOptions options;
  options.weights = request.weights;
  options.matrix = request.tokens_from;
  options.top = request.tokens;
  options.vocabulary_size = vocabulary->size();
  const std::vector<NeuronId> neurons(listed.begin(), listed.end());
  for (const NeuronTokens& profile : neuron_tokens(model, neurons, options, context)) {
    for (std::size_t i = 0; i < profile.top.size(); ++i) {
      outcome.neuron_tokens.push_back({profile.neuron, i + 1, vocabulary->token(profile.top[i].token), profile.top[i]});
    }
  }
}

}  // namespace

void describe(RelateRequest& request, OptionList& options) {
  describe(request.model, options);
  options.add("pairs", request.pairs, pair_form(), "Roles of source and target, or 'all' 16");
  options.add("metric", request.metrics, metric_form(), "Metrics; the first one determines the graph");
  options.add("weights", request.weights, weights_form(), "folded (norms multiplied in) or raw");
  options.add("null", request.nulls, null_form(),
              "Null models to report (default: all that are defined for the first metric)");
  options.add("top", request.top, "Edges kept per pair of roles");
  options
      .add("max-q", request.max_q,
           "Keep all edges whose q-value is at most this, instead of --top; q is that of the larger p of the isotropic "
           "and "
           "the matched null, over all pairs of roles")
      .between(0, 1)
      .above(0)
      .formerly("--q");
  options.add("nodes", request.nodes, nodes_form(),
              "Nodes of the graph; with others than heads, all components are compared by overlap");
  options.add("experts", request.experts,
              named_values<ExpertNodes>({{ExpertNodes::kPooled, "pooled"}, {ExpertNodes::kEach, "each"}}),
              "Nodes of an MLP that is a mixture of experts: one for all of them, such as L4M, or one for each, L4M12");
  options.add("labels", request.labels, "JSON file of head classes to score against");
  options.add("neurons", request.neurons,
              "Neurons listed per subspace of a head with token profiles: those whose vectors are most in it");
  options.add("tokens", request.tokens, "Tokens per profile");
  options.add(
      "tokens-for", request.tokens_for,
      named_values<ProfiledSubspaces>(
          {{ProfiledSubspaces::kEdges, "edges"}, {ProfiledSubspaces::kAll, "all"}, {ProfiledSubspaces::kNone, "none"}}),
      "Heads with token profiles: those in kept edges and the top hubs, all, or none");
  options.add(
      "tokens-from", request.tokens_from,
      named_values<TokenMatrix>({{TokenMatrix::kUnembedding, "unembedding"}, {TokenMatrix::kEmbedding, "embedding"}}),
      "Matrix whose rows are the tokens' vectors");
  describe(request.selection, options);
  options.add("earlier-only", request.earlier_only, "Leave out pairs that do not go from an earlier to a later layer");
  options.add("sensitivity", request.sensitivity,
              "Also compare the first metric with other weight processings and without common directions");
  options.add("draws", request.draws, "Random subspaces per side of the matched null").between(2, 100000);
  options.add("seed", request.seed, "Seed of the matched null, of the test of hubs and of the bootstrap over heads");
  describe_device(request.resources, options);
  describe_precision(request.resources, options);
  describe(request.resumption, options);
  describe(request.output, options);
  describe(request.resources, options);
}

std::optional<RelateOutcome> run(const RelateRequest& request, const Context& caller) {
  const Stopwatch watch;
  Context context = make_context(request.resources, caller);
  Ranks& ranks = context.ranks;
  RelateOutcome outcome;
  outcome.options = relate_options(request);
  const ComponentChoice components = components_of(request);
  context.affinity_engine = choose_affinity_engine(request.resources, context);

  const auto opened = ranks.run_and_agree([&] { return request.model.open(); });
  const Model& model = *opened;
  outcome.model = model.info();
  if (components.any()) require_one_block(model, "--nodes");
  if (request.neurons > 0) require_one_block(model, "--neurons");
  const std::size_t results = check_relate_memory(model, outcome.options, context);
  const Context after = context.without_memory(results);
  check_token_memory(request, model, after);
  if (components.any()) {
    const std::size_t top = request.max_q ? 0 : request.top;
    check_overlaps(model, components, reading_roles(request), top, outcome.options.affinity, after);
  }
  // Ranks compare a sample; the whole is read once.
  if (ranks.size() > 1) check_same_everywhere(ranks, "model", sampled_fingerprint(model.checkpoint()));
  const std::string seen = broadcast_text(ranks, ranks.is_root() ? fingerprint(model) : "");
  if (has_labels(request) && ranks.is_root()) outcome.options.labels = read_labels(request);
  std::optional<RunOutput> output;
  if (ranks.is_root()) {
    output.emplace(target_of(request.output, model), describe_run(request, model, seen, *context.affinity_engine),
                   watch);
  }
  Resumable resumable(target_of(request.output, model), request.resumption, RelateRequest::kCommand.name);
  ranks.barrier();  // nothing is read before all ranks have removed what is not to be resumed
  std::optional<FinishedBlocks> finished;
  if (FinishedWork* work =
          resumable.open(key_of_blocks(request, model, seen, *context.affinity_engine), ranks.rank())) {
    finished.emplace(*work);
  }
  auto result = resumable.run([&] {
    return relate(model, outcome.options, context.with_stage("comparing heads"), finished ? &*finished : nullptr);
  });
  const std::map<std::string, std::string> shared = describe_ranks(ranks);
  outcome.resumed_blocks = sum_on_root(ranks, finished ? finished->restored() : 0);
  if (output) {
    RunFolder& folder = output->folder();
    folder.circumstances().insert(shared.begin(), shared.end());
    if (outcome.resumed_blocks > 0) {
      folder.circumstances()["blocks_resumed"] = std::to_string(outcome.resumed_blocks);
    }
    outcome.result = std::move(*result);
    if (components.any()) {
      resumable.save();
      outcome.components = relate_components(model, components, outcome.options, outcome.result.affinities,
                                             after.on_one_rank().with_stage("comparing components"));
      std::ranges::copy(outcome.components->warnings, std::back_inserter(outcome.result.warnings));
    }
    add_tokens(request, model,
               after.without_memory(token_memory(request, model)).on_one_rank().with_stage("ranking tokens"), outcome);
    add_neurons(request, model, after.on_one_rank().with_stage("ranking neurons"), outcome);
    write(outcome, folder);
    outcome.files = output->finish(context);
  }
  ranks.barrier();  // nothing is removed before the results are in place
  resumable.remove();
  if (!output) return std::nullopt;
  return outcome;
}

}  // namespace headscope
