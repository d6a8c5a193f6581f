#include "cli/relate_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "headscope/io/csv.h"
#include "headscope/relate/graph_export.h"
#include "headscope/tree/tree_json.h"

namespace headscope::cli {
namespace {

using Cells = std::vector<std::string>;

void add_table(RunFolder& run, const std::string& name, const std::string& about, const CsvTable& table) {
  run.add_text({.name = name, .kind = "table", .about = about, .shape = {table.rows(), table.columns()}}, table.text());
}

void add_heads(RunFolder& run, const RelateOptions& options, const RelateResult& result) {
  // Rank of a head in each role that was looked at, by the first metric that looks at subspaces.
  std::map<std::pair<HeadId, Role>, std::size_t> ranks;
  for (const Affinities& one : result.affinities) {
    if (one.metric != options.metrics.front()) continue;
    for (std::size_t i = 0; i < one.source.heads.size(); ++i)
      ranks[{one.source.heads[i], one.pair.source}] = one.source.ranks[i];
    for (std::size_t i = 0; i < one.target.heads.size(); ++i)
      ranks[{one.target.heads[i], one.pair.target}] = one.target.ranks[i];
  }
  CsvTable table({"head", "layer", "number", "kind", "rank_Q", "rank_K", "rank_V", "rank_O", "classes"});
  for (const HeadId id : result.graph.nodes()) {
    Cells row = {to_string(id), std::to_string(id.layer), std::to_string(id.head), id.key_value ? "kv" : "query"};
    for (const Role role : kRoles) {
      const auto rank = ranks.find({id, role});
      row.push_back(rank == ranks.end() ? "" : std::to_string(rank->second));
    }
    row.push_back(!options.labels ? "" : fmt::format("{}", fmt::join(options.labels->classes_of(id), ";")));
    table.add_row(row);
  }
  add_table(run, "heads.csv",
            "The heads that were compared: where they are, the ranks of their subspaces, their classes.", table);
}

void add_affinities(RunFolder& run, const RelateResult& result) {
  for (const Affinities& one : result.affinities) {
    const std::string name = fmt::format("{}_{}", info(one.metric).name, to_string(one.pair));
    run.add_array({.name = "affinity/" + name + ".npy",
                   .kind = "array",
                   .about = fmt::format("Metric {} between role {} of the source and role {} of the target; NaN where "
                                        "it was not asked for.",
                                        info(one.metric).name, letter(one.pair.source), letter(one.pair.target)),
                   .shape = {one.values.rows(), one.values.columns()},
                   .axes = {"source head", "target head"}},
                  one.values.values());
  }
}

void add_edges(RunFolder& run, const RelateResult& result) {
  Cells header = {"pair", "source", "target", "score", "rank"};
  for (const char* number : {"z", "p", "q"}) {
    for (const NullModel null : result.nulls) header.push_back(fmt::format("{}_{}", number, to_string(null)));
  }
  CsvTable table(header);
  for (const Edge& edge : result.edges) {
    Cells row = {to_string(edge.pair), to_string(edge.source), to_string(edge.target), csv_number(edge.score),
                 std::to_string(edge.rank)};
    for (const EdgeScore& null : edge.nulls) row.push_back(csv_number(null.z));
    for (const EdgeScore& null : edge.nulls) row.push_back(csv_number(null.p));
    for (const EdgeScore& null : edge.nulls) row.push_back(csv_number(null.q));
    table.add_row(row);
  }
  add_table(run, "edges.csv",
            "The edges that were kept, from earlier to later heads, closest first within a pair of roles.", table);
}

void add_graph(RunFolder& run, const RelateOptions& options, const RelateResult& result) {
  const GraphToExport graph{result.graph, result.measures, options.labels ? &*options.labels : nullptr};
  run.add_text({.name = "graph.graphml", .kind = "graph", .about = "Heads and kept edges, as GraphML."},
               to_graphml(graph));
  run.add_text({.name = "graph.gexf", .kind = "graph", .about = "The same graph, as GEXF."}, to_gexf(graph));
  run.add_text({.name = "graph.dot", .kind = "graph", .about = "The same graph, for Graphviz."}, to_dot(graph));

  CsvTable table({"rank", "head", "strength", "in_degree", "out_degree", "in_strength", "out_strength", "pagerank",
                  "hub", "authority", "betweenness", "reason"});
  for (const Hub& hub : result.hubs) {
    const NodeMeasures& node = result.measures.nodes[hub.node];
    table.add_row(Cells{std::to_string(table.rows() + 1), to_string(result.graph.nodes()[hub.node]),
                        csv_number(hub.strength), std::to_string(node.in_degree), std::to_string(node.out_degree),
                        csv_number(node.in_strength), csv_number(node.out_strength), csv_number(node.pagerank),
                        csv_number(node.hub), csv_number(node.authority), csv_number(node.betweenness), hub.reason});
  }
  add_table(run, "hubs.csv",
            "Heads by the sum of z over their edges, with the measures of the graph and the reason in words.", table);
}

void add_tree(RunFolder& run, const RelateResult& result) {
  std::vector<std::string> names;
  for (const HeadId id : result.graph.nodes()) names.push_back(to_string(id));
  run.add_text({.name = "tree.json",
                .kind = "tree",
                .about = "Nested communities of heads: the flexible tree of their symmetrized affinity, root first.",
                .shape = {names.size()}},
               to_json(*result.tree, names) + "\n");
}

void add_informativeness(RunFolder& run, const RelateResult& result) {
  if (result.informativeness.empty()) return;
  CsvTable table({"pair", "pairs", "observed_mean", "observed_sd", "random_mean", "random_sd", "kl", "bin_width",
                  "smoothed", "kl_fine", "fine_width", "fine_smoothed", "kl_closed_form"});
  for (const Informativeness& one : result.informativeness) {
    table.add_row(Cells{to_string(one.pair), std::to_string(one.pairs), csv_number(one.observed_mean),
                        csv_number(one.observed_deviation), csv_number(one.random.mean),
                        csv_number(one.random.deviation), csv_number(one.paper), csv_number(one.paper_width),
                        one.paper_smoothed ? "yes" : "no", csv_number(one.fine), csv_number(one.fine_width),
                        one.fine_smoothed ? "yes" : "no", csv_number(one.closed_form)});
  }
  add_table(run, "informativeness.csv",
            "KL(random || observed) of the projection kernel over earlier-to-later pairs, in nats; smoothed: half a "
            "count was added to every bin that random touches, since one was empty.",
            table);
}

void add_labels(RunFolder& run, const RelateOptions& options, const RelateResult& result) {
  if (!options.labels) return;
  CsvTable table({"metric", "pair", "pairs", "positives", "pr_auc", "roc_auc", "precision_at_k", "k",
                  "heads_in_classes", "heads_outside"});
  for (const LabelRow& row : result.labels) {
    const auto metric =
        static_cast<std::size_t>(std::ranges::find(options.metrics, row.metric) - options.metrics.begin());
    const ClassCounts& counts = result.class_counts[metric];
    table.add_row(Cells{std::string(info(row.metric).name), to_string(row.pair), std::to_string(row.scores.pairs),
                        std::to_string(row.scores.positives), csv_number(row.scores.average_precision),
                        csv_number(row.scores.roc_auc), csv_number(row.scores.precision_at_k),
                        std::to_string(options.top), std::to_string(counts.inside), std::to_string(counts.outside)});
  }
  add_table(
      run, "labels.csv",
      "How well each metric finds pairs of labeled heads (both labeled, ignored classes not counted); heads in and "
      "outside classes among the top k edges of all pairs of the metric.",
      table);
}

void print_edges(std::ostream& out, const RelateOptions& options, const RelateResult& result) {
  constexpr std::size_t kShown = 3;
  for (const RolePair pair : options.pairs) {
    std::vector<std::string> strongest;
    for (const Edge& edge : result.edges) {
      if (edge.pair != pair || edge.rank > kShown) continue;
      const std::string z = edge.nulls.empty() ? "" : fmt::format(", z {:.1f}", edge.nulls.front().z);
      strongest.push_back(
          fmt::format("{} > {} ({:.4g}{})", to_string(edge.source), to_string(edge.target), edge.score, z));
    }
    if (!strongest.empty()) out << fmt::format("{:<12} {}\n", to_string(pair), fmt::join(strongest, "   "));
  }
}

}  // namespace

void add_relate_files(RunFolder& run, const RelateOptions& options, const RelateResult& result) {
  add_heads(run, options, result);
  add_affinities(run, result);
  add_edges(run, result);
  add_graph(run, options, result);
  add_tree(run, result);
  add_informativeness(run, result);
  add_labels(run, options, result);
}

void add_token_file(RunFolder& run, const std::vector<TokenProfile>& profiles, const Vocabulary& vocabulary) {
  CsvTable table({"head", "role", "rank", "id", "token", "score"});
  for (const TokenProfile& profile : profiles) {
    if (profile.rank == 0) continue;  // no token is closer to nothing than another
    for (std::size_t i = 0; i < profile.top.size(); ++i) {
      const TokenScore& token = profile.top[i];
      table.add_row(Cells{to_string(profile.subspace.head), std::string(1, letter(profile.subspace.role)),
                          std::to_string(i + 1), std::to_string(token.token), vocabulary.token(token.token),
                          csv_number(token.score)});
    }
  }
  add_table(run, "tokens.csv", "The tokens closest to a head's subspace, best first: the cosine of their angle to it.",
            table);
}

void print_relate_summary(std::ostream& out, const Model& model, const RelateOptions& options,
                          const RelateResult& result) {
  const HeadSizes& sizes = model.info().sizes;
  out << fmt::format("{:<12} {}, {} layers of {} heads{}, {} weights\n", "model", model.info().family, sizes.layers,
                     sizes.heads, sizes.kv_heads == sizes.heads ? "" : fmt::format(" ({} KV)", sizes.kv_heads),
                     to_string(options.affinity.weights));
  std::vector<std::string> nulls;
  for (const NullModel null : result.nulls) nulls.emplace_back(to_string(null));
  out << fmt::format("{:<12} {}; z under {}\n", "metric", info(options.metrics.front()).name, fmt::join(nulls, ", "));
  print_edges(out, options, result);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, result.hubs.size()); ++i) {
    const Hub& hub = result.hubs[i];
    if (result.edges.empty()) break;
    out << fmt::format("{:<12} {}: {}\n", i == 0 ? "hubs" : "", to_string(result.graph.nodes()[hub.node]), hub.reason);
  }
  for (const Informativeness& one : result.informativeness) {
    out << fmt::format("{:<12} {} {:.3f} nats from random (mean {:.3f}, random {:.3f})\n",
                       &one == &result.informativeness.front() ? "informative" : "", to_string(one.pair), one.paper,
                       one.observed_mean, one.random.mean);
  }
  for (const LabelRow& row : result.labels) {
    out << fmt::format("{:<12} {} {}: PR-AUC {:.3f}, ROC-AUC {:.3f}\n", &row == &result.labels.front() ? "labels" : "",
                       info(row.metric).name, to_string(row.pair), row.scores.average_precision, row.scores.roc_auc);
  }
  for (const std::string& warning : result.warnings) out << fmt::format("{:<12} {}\n", "warning", warning);
}

}  // namespace headscope::cli
