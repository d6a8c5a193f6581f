#include "headscope/apply/reproduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "apply/embedded.h"
#include "headscope/base/error.h"
#include "headscope/capture/detectors.h"
#include "headscope/io/json.h"
#include "headscope/model/network.h"
#include "headscope/model/vocabulary.h"
#include "headscope/relate/relate.h"

namespace headscope {
namespace {

const std::array<RolePair, 3> kCircuit = {{{Role::kO, Role::kQ}, {Role::kO, Role::kK}, {Role::kO, Role::kV}}};

// Results for one weight processing: the projection kernel of all pairs, and more metrics of the circuit pairs.
struct Measured {
  RelateResult circuit;            // pk, cs, simple-cs, cka, procrustes; OQ, OK, OV; top 20; labels
  std::vector<Affinities> others;  // pk of the other 13 pairs
};

Measured measure(const Model& model, WeightProcessing weights, const HeadLabels& labels, const Context& context) {
  RelateOptions options;
  options.nulls = {NullModel::kIsotropic};
  options.affinity.weights = weights;
  options.affinity.earlier_only = true;
  Measured measured;
  std::vector<RolePair> others = all_role_pairs();
  std::erase_if(others, [](RolePair pair) { return std::ranges::find(kCircuit, pair) != kCircuit.end(); });
  // Progress roughly in proportion to flops and decompositions.
  measured.others = compute_affinities(model, Metric::kPk, others, options.affinity, context.part(0, 0.3)).value();
  options.pairs.assign(kCircuit.begin(), kCircuit.end());
  options.metrics = {Metric::kPk, Metric::kCs, Metric::kSimpleCs, Metric::kCka, Metric::kProcrustes};
  options.labels = labels;
  measured.circuit = relate(model, options, context.part(0.3, 1)).value();
  return measured;
}

const Affinities& find(const Measured& measured, Metric metric, const std::string& pair) {
  const auto is_it = [&](const Affinities& one) { return one.metric == metric && to_string(one.pair) == pair; };
  const auto found = std::ranges::find_if(measured.circuit.affinities, is_it);
  return found != measured.circuit.affinities.end() ? *found : *std::ranges::find_if(measured.others, is_it);
}

// In d_model dimensions, as in the paper, although folded weights are centered and lie in d_model - 1.
Informativeness informativeness_of(const Measured& measured, const std::string& pair, const HeadSizes& sizes) {
  return informativeness(find(measured, Metric::kPk, pair), sizes.d_model, sizes.d_head, sizes.d_head);
}

std::vector<float> later_values(const Affinities& affinities) {
  std::vector<float> values;
  for (const float value : affinities.values.values()) {
    if (!std::isnan(value)) values.push_back(value);
  }
  std::ranges::sort(values, std::ranges::greater());
  return values;
}

double mean(const Affinities& affinities) {
  double sum = 0;
  const std::vector<float> values = later_values(affinities);
  for (const float value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

// The smallest value among the largest `share` of all values.
double cutoff(const Affinities& affinities, double share) {
  const std::vector<float> values = later_values(affinities);
  const auto count = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return static_cast<double>(values[std::max<std::size_t>(1, count) - 1]);
}

double shared_edges(const RelateResult& result, const std::string& pair, JsonValue published) {
  std::set<std::string> ours;
  for (const Edge& edge : result.edges) {
    if (to_string(edge.pair) != pair) continue;
    ours.insert(fmt::format("{}.{}>{}.{}", edge.source.layer, edge.source.head, edge.target.layer, edge.target.head));
  }
  double shared = 0;
  for (const JsonValue edge : published.items()) shared += ours.contains(std::string(*edge.as_string())) ? 1 : 0;
  return shared;
}

double class_score(const RelateResult& result, Metric metric, const std::string& pair) {
  return std::ranges::find_if(result.labels,
                              [&](const LabelRow& row) { return row.metric == metric && to_string(row.pair) == pair; })
      ->scores.average_precision;
}

// Collects figures, each computed from the measurements of both weight processings.
class FigureTable {
 public:
  FigureTable(const Measured& folded, const Measured& raw) : folded_(folded), raw_(raw) {}

  template <typename Ours>
  void add(const std::string& name, double published, double tolerance, bool decides, const Ours& ours) {
    figures_.push_back({name, published, tolerance, ours(folded_), ours(raw_), decides});
  }
  [[nodiscard]] std::vector<ReproducedFigure> figures() && { return std::move(figures_); }

 private:
  const Measured& folded_;
  const Measured& raw_;
  std::vector<ReproducedFigure> figures_;
};

double number(JsonValue object, std::string_view key) {
  return object.find(key).as_number().value();
}

void add_kernel_figures(FigureTable& table, JsonValue published, const HeadSizes& sizes) {
  const JsonValue random = published.find("random");
  table.add("random mean", number(random, "mean"), number(random, "tolerance"), false,
            [&](const Measured& m) { return informativeness_of(m, "QQ", sizes).random.mean; });
  table.add("random sd", number(random, "sd"), number(random, "tolerance"), false,
            [&](const Measured& m) { return informativeness_of(m, "QQ", sizes).random.deviation; });
  const JsonValue means = published.find("mean_pk");
  for (const std::string pair : {"QQ", "VO"}) {
    table.add("mean pk " + pair, number(means, pair), number(means, "tolerance"), true,
              [&](const Measured& m) { return mean(find(m, Metric::kPk, pair)); });
  }
  const JsonValue divergences = published.find("kl");
  for (const RolePair role_pair : all_role_pairs()) {
    const std::string pair = to_string(role_pair);
    table.add("KL " + pair, number(divergences, pair), number(divergences, "tolerance"), false,
              [&](const Measured& m) { return informativeness_of(m, pair, sizes).paper; });
  }
}

void add_edge_figures(FigureTable& table, JsonValue published) {
  for (const auto& [key, metric] : {std::pair{"cutoff_pk", Metric::kPk}, std::pair{"cutoff_cs", Metric::kCs}}) {
    const JsonValue cutoffs = published.find(key);
    for (const RolePair role_pair : kCircuit) {
      const std::string pair = to_string(role_pair);
      table.add(fmt::format("top 3 % {} {}", info(metric).name, pair), number(cutoffs, pair),
                number(cutoffs, "tolerance"), true, [&, measured_metric = metric](const Measured& m) {
                  return cutoff(find(m, measured_metric, pair), number(cutoffs, "share"));
                });
    }
  }
  for (const RolePair role_pair : kCircuit) {
    const std::string pair = to_string(role_pair);
    const JsonValue largest = published.find("largest_pk");
    table.add("largest pk " + pair, number(largest, pair), number(largest, "tolerance"), false,
              [&](const Measured& m) { return static_cast<double>(later_values(find(m, Metric::kPk, pair)).front()); });
    const JsonValue edges = published.find("top_edges").find(pair);
    table.add("top 20 edges shared " + pair, static_cast<double>(edges.size()), 1, false,
              [&](const Measured& m) { return shared_edges(m.circuit, pair, edges); });
  }
}

void add_class_figures(FigureTable& table, JsonValue published) {
  for (const auto& [name, index] : {std::pair{"pk", 0}, std::pair{"cs", 1}}) {
    const auto metric = static_cast<std::size_t>(index);
    std::vector<double> counts;
    for (const JsonValue count : published.find("heads_in_classes").find(name).items())
      counts.push_back(*count.as_number());
    table.add(fmt::format("heads in classes, top 20 {}", name), counts[0], 2, false,
              [metric](const Measured& m) { return static_cast<double>(m.circuit.class_counts[metric].inside); });
    table.add(fmt::format("heads outside, top 20 {}", name), counts[1], 2, false,
              [metric](const Measured& m) { return static_cast<double>(m.circuit.class_counts[metric].outside); });
  }
  const JsonValue hub = published.find("hub");
  const HeadId head = parse_head(*hub.find("head").as_string()).value();
  // Of all kept edges, as in the paper; `measures` counts those beyond chance.
  const auto degree = [head](const Measured& m, HeadId Edge::*end) {
    return static_cast<double>(std::ranges::count(m.circuit.edges, head, end));
  };
  table.add("in-degree of " + to_string(head), number(hub, "in_degree"), 1, false,
            [&](const Measured& m) { return degree(m, &Edge::target); });
  table.add("out-degree of " + to_string(head), number(hub, "out_degree"), 1, false,
            [&](const Measured& m) { return degree(m, &Edge::source); });
  for (const auto [name, pairs] : published.find("class_scores").members()) {
    const Metric metric = parse_metric(name).value();
    for (const auto [pair, score] : pairs.members()) {
      table.add(
          fmt::format("class score {} {}", name, pair), *score.as_number(), 0, false,
          [&, role_pair = std::string(pair)](const Measured& m) { return class_score(m.circuit, metric, role_pair); });
    }
  }
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

std::vector<HeadRole> published_subspaces(JsonValue published) {
  std::vector<HeadRole> subspaces;
  for (const JsonValue profile : published.find("token_profiles").items()) {
    const HeadId head = parse_head(profile.find("head").as_string().value()).value();
    const char role = profile.find("role").as_string().value().front();
    subspaces.push_back({head, *std::ranges::find(kRoles, role, letter)});
  }
  return subspaces;
}

void add_profiles(const Model& model, JsonValue published, const Context& context, Reproduction& result) {
  const std::vector<HeadRole> subspaces = published_subspaces(published);
  for (const JsonValue profile : published.find("token_profiles").items()) {
    const HeadRole& subspace = subspaces[result.profiles.size()];
    ReproducedProfile next{fmt::format("{} {}", to_string(subspace.head), letter(subspace.role)), {}};
    for (const JsonValue word : profile.find("words").items()) next.published.emplace_back(word.as_string().value());
    result.profiles.push_back(std::move(next));
  }
  const auto vocabulary = Vocabulary::load(model.checkpoint());
  if (model.info().unembedding.empty()) {
    result.no_profiles = "the model has no unembedding";
  } else if (!vocabulary) {
    result.no_profiles = "the model has no vocabulary (tokenizer.json, vocab.json)";
  }
  if (!result.no_profiles.empty()) return;
  for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
    TokenProfileOptions options;
    options.weights = weights;
    options.vocabulary_size = vocabulary->size();
    const std::vector<TokenProfile> measured = token_profiles(model, subspaces, options, context);
    for (std::size_t i = 0; i < measured.size(); ++i) {
      std::vector<std::string>& words =
          weights == WeightProcessing::kFolded ? result.profiles[i].folded : result.profiles[i].raw;
      for (const TokenScore& token : measured[i].top) words.push_back(trimmed(vocabulary->token(token.token)));
    }
  }
}

// Mean diagonal attention, which requires running the model. We use random tokens, the paper a text that it does not
// name, so the tolerance is wide. Independent of the weight processing.
void add_identity_figures(const Model& model, JsonValue published, const Context& context, Reproduction& result) {
  const JsonValue identity = published.find("identity");
  const DetectResult detected = detect(model, {}, context);
  std::vector<HeadId> named;
  const auto score_of = [](const HeadScores& head) {
    return *head.scores[static_cast<std::size_t>(Detector::kIdentity)];
  };
  for (const auto [name, score] : identity.find("scores").members()) {
    const HeadId id = parse_head(name).value();
    named.push_back(id);
    const double ours = score_of(*std::ranges::find(detected.heads, id, &HeadScores::head));
    result.figures.push_back({fmt::format("identity score {}", to_string(id)), *score.as_number(),
                              number(identity, "tolerance"), ours, ours, false});
  }
  double largest = 0;
  for (const HeadScores& head : detected.heads) {
    if (std::ranges::find(named, head.head) == named.end()) largest = std::max(largest, score_of(head));
  }
  result.figures.push_back(
      {"identity score, largest other", number(identity, "rest_below"), 0, largest, largest, false});
}

// Returns why the model cannot be run; empty if it can.
std::string why_not_run(const Model& model) {
  try {
    (void)resolve_network(model);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

void add_uncompared(JsonValue published, const std::string& not_run, Reproduction& result) {
  if (!not_run.empty()) {
    for (const auto [head, score] : published.find("identity").find("scores").members()) {
      result.uncompared.push_back({fmt::format("identity score {}", to_string(parse_head(head).value())),
                                   fmt::format("{}", *score.as_number()), not_run});
    }
  }
  const JsonValue two_layers = published.find("two_layer_model");
  result.uncompared.push_back(
      {"two-layer model", std::string(two_layers.find("finding").as_string().value()),
       fmt::format("is about another model, {}", two_layers.find("model").as_string().value())});
}

void check_shape(const Model& model, JsonValue shape) {
  const HeadSizes& sizes = model.info().sizes;
  const auto expected = [&](std::string_view key) { return static_cast<std::size_t>(*shape.find(key).as_unsigned()); };
  const HeadSizes wanted{expected("layers"), expected("heads"), expected("heads"), expected("d_model"),
                         expected("d_head")};
  if (sizes == wanted) return;
  throw Error(
      ErrorKind::kUnsupported,
      fmt::format("{}: has {} layers of {} heads of width {} in {} dimensions; the published figures are for GPT-2 "
                  "small, which has {} layers of {} heads of width {} in {}",
                  model.checkpoint().path().string(), sizes.layers, sizes.heads, sizes.d_head, sizes.d_model,
                  wanted.layers, wanted.heads, wanted.d_head, wanted.d_model));
}

}  // namespace

std::optional<bool> ReproducedFigure::met(WeightProcessing weights) const noexcept {
  if (tolerance == 0) return std::nullopt;
  return std::abs(ours(weights) - published) <= tolerance;
}

std::size_t ReproducedProfile::shared(WeightProcessing weights) const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(published, [&](const std::string& word) {
    return std::ranges::find(ours(weights), word) != ours(weights).end();
  }));
}

Reproduction reproduce(const Model& model, const Context& context) {
  const JsonDocument document = JsonDocument::parse(kPublishedGpt2Small, "published figures");
  const JsonValue published = document.root();
  check_shape(model, published.find("shape"));
  const HeadLabels labels = HeadLabels::parse(kLabelsGpt2SmallPk, "labels");
  const Context heads = context.on_one_rank().with_memory(context.memory / 2);
  const Measured folded = measure(model, WeightProcessing::kFolded, labels, heads.part(0, 0.5));
  const Measured raw = measure(model, WeightProcessing::kRaw, labels, heads.part(0.5, 1));

  FigureTable table(folded, raw);
  add_kernel_figures(table, published, model.info().sizes);
  add_edge_figures(table, published);
  add_class_figures(table, published);
  Reproduction result;
  result.source = published.find("source").as_string().value();
  result.figures = std::move(table).figures();
  add_profiles(model, published, heads.part(1, 1), result);
  const std::string not_run = why_not_run(model);
  if (not_run.empty()) add_identity_figures(model, published, context.part(1, 1), result);
  add_uncompared(published, not_run, result);
  for (const WeightProcessing weights : {WeightProcessing::kFolded, WeightProcessing::kRaw}) {
    const bool all_met = std::ranges::all_of(
        result.figures, [&](const ReproducedFigure& figure) { return !figure.decides || figure.met(weights).value(); });
    if (all_met && !result.weights) result.weights = weights;
  }
  return result;
}

}  // namespace headscope
