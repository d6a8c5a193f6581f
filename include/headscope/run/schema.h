#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headscope/io/csv_reader.h"
#include "headscope/run/table.h"

namespace headscope {

// What a RUN folder contains: every file that a command writes, with its columns, axes and meaning. Writers, readers,
// the report and the Python package all use this description, and docs/files.md is generated from it.
//
// Names may contain placeholders in angle brackets, e.g. "affinity/<metric>_<pair>.npy".

/// Version of the schema, in the manifest as "schema". Version 1, without the entry, differs in these points: the
/// column `index` of heads.csv was called `number`, and the identities in the manifest had other keys.
inline constexpr std::size_t kRunSchema = 2;

struct ColumnSchema {
  std::string_view name;
  ColumnType type = ColumnType::kText;
  std::string_view about;
  /// A column with a placeholder is repeated once per value of the placeholder. If set, it is repeated together with
  /// the column before it: a, a_low, b, b_low instead of a, b, a_low, b_low.
  bool joint = false;
  std::string_view former_name = {};  ///< In folders of version 1.
  std::size_t since = 1;              ///< First version of the schema that has the column.
};

struct FileSchema {
  std::string_view command;  ///< The command that writes it.
  std::string_view path;     ///< Relative to the folder.
  std::string_view kind;     ///< "table", "array", "tree", ...
  std::string_view about;    ///< One sentence; goes into the manifest.
  std::string_view dtype = {};
  std::array<std::string_view, 3> axes = {};  ///< Of an array; unused ones are empty.
  std::span<const ColumnSchema> columns = {};
  /// Written once per input: at the top level for the first one, in inputs/1/, inputs/2/, ... for the others. What
  /// there is per block, too, is in the folder of the block: cross/pattern.npy, cross/inputs/1/pattern.npy.
  bool per_input = false;
};

/// Values for placeholders, by name.
using Placeholders = std::vector<std::pair<std::string_view, std::string>>;
/// Replaces every `<name>` by its value. \throws Error  kInvalidArgument if a name has no value.
[[nodiscard]] std::string fill(std::string_view pattern, const Placeholders& values);
/// Returns the values of the placeholders if the text fits the pattern. A value is not empty and contains no slash.
[[nodiscard]] std::optional<Placeholders> match(std::string_view pattern, std::string_view text);

/// The blocks of a model with an encoder and a decoder, as in model/block.h.
inline constexpr std::array<std::string_view, 3> kBlockNames = {"encoder", "decoder", "cross"};

/// Folder of an input: "" for the first one, then "inputs/1/" and so on.
[[nodiscard]] std::string input_folder(std::size_t input);
/// Folder of the maps of a block: "cross/"; "" for the only one. Each is a folder of maps by itself: the folders of its
/// inputs are in it.
[[nodiscard]] std::string block_folder(std::string_view block);

/// Returns an empty table with the columns of a file. `repeated` lists the values of a placeholder in column names.
[[nodiscard]] Table make_table(const FileSchema& file,
                               const std::vector<std::pair<std::string_view, std::vector<std::string>>>& repeated = {});

/// Returns the column of a file that has this name, now or formerly, or the pattern that it matches; null if there is
/// none.
[[nodiscard]] const ColumnSchema* find_column(const FileSchema& file, std::string_view name) noexcept;

/// Returns the present names and the types of the columns of a table that was read from a file. Columns that the schema
/// does not list are text.
[[nodiscard]] std::vector<ColumnSpec> column_types(const FileSchema& file, std::span<const std::string> names);

/// Converts a table that was read from a file to these types. `where` is the prefix of every error message.
/// \throws Error  kFormat if a cell does not fit its column.
[[nodiscard]] Table typed_table(const CsvRows& rows, const FileSchema& file, const std::string& where);

/// All files, command by command.
[[nodiscard]] std::span<const FileSchema* const> run_schema() noexcept;
/// Returns the file that a path in a folder is, or null if no command writes such a file.
[[nodiscard]] const FileSchema* find_schema(std::string_view path) noexcept;

/// The names of the files, for use in code: `run_files::kEdges`.
namespace run_files {

inline constexpr std::string_view kManifest = "manifest.json";
/// In the circumstances of organize and softmax: the folder of the input whose trees and tables they wrote, e.g.
/// "inputs/2/"; empty or absent for the first one.
inline constexpr std::string_view kMainInput = "input_folder";

// relate

inline constexpr std::array kHeadColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name, e.g. L4H7, L4KV1 or cross.L4H7"},
    {"layer", ColumnType::kInteger, "Layer, from 0"},
    {"index", ColumnType::kInteger, "Index within the layer, from 0", false, "number"},
    {"kind", ColumnType::kText, "query or kv"},
    {"rank_Q", ColumnType::kOptionalInteger, "Dimension of the subspace of role Q, if it was compared"},
    {"rank_K", ColumnType::kOptionalInteger, "The same for K"},
    {"rank_V", ColumnType::kOptionalInteger, "The same for V"},
    {"rank_O", ColumnType::kOptionalInteger, "The same for O"},
    {"classes", ColumnType::kText, "Classes of the head in the label file, separated by semicolons"},
    {.name = "uses",
     .about = "The KV head that a query head uses, e.g. L4KV1; empty if it has its own K and V",
     .since = 2},
    {"block", ColumnType::kText, "encoder, decoder or cross, if the model has such blocks", false, "", 2},
});
inline constexpr FileSchema kHeads = {
    .command = "relate",
    .path = "heads.csv",
    .kind = "table",
    .about = "The heads that were compared: where they are, the ranks of their subspaces, their classes.",
    .columns = kHeadColumns};
inline constexpr FileSchema kAffinity = {
    .command = "relate",
    .path = "affinity/<metric>_<pair>.npy",
    .kind = "array",
    .about =
        "Metric <metric> between role <source> of the source and role <target> of the target; NaN where it was not "
        "asked for.",
    .dtype = "float32",
    .axes = {"source head", "target head"}};
inline constexpr std::array kEdgeColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target, e.g. OQ"},
    {"source", ColumnType::kText, "Head of the earlier layer"},
    {"target", ColumnType::kText, "Head of the later layer"},
    {"score", ColumnType::kFloat, "Affinity by the first metric"},
    {"rank", ColumnType::kInteger,
     "Rank within the pair of roles: by score among edges beyond chance, then the others"},
    {"z_<null>", ColumnType::kDouble, "Standard deviations above the mean of the null model"},
    {"p_<null>", ColumnType::kDouble, "Probability of such a score under the null model; 1e-12 means at most that"},
    {"q_<null>", ColumnType::kDouble,
     "False discovery rate at this p within the pair of roles (Benjamini and Hochberg); 1e-12 means at most that"},
    {"log10_p_<null>", ColumnType::kDouble, "Base-10 logarithm of p, without a limit", false, "", 2},
    {"beyond_chance", ColumnType::kFlag,
     "Whether q <= 0.05 for the larger p of isotropic and matched, over all pairs of heads of all pairs of roles",
     false, "", 2},
    {"stands_out", ColumnType::kFlag, "Whether it is beyond chance and q_span <= 0.05", false, "", 2},
    {"mean_<null>", ColumnType::kDouble,
     "Mean of the null model for heads of these ranks, on the scale of score; for span the median at this layer "
     "distance; for metrics that are roots (cs, rope-cs, simple-cs, coupling) the root of the mean square",
     false, "", 2},
    {"sd_<null>", ColumnType::kDouble,
     "Standard deviation of it; for span 1.4826 median absolute deviations; for metrics that are roots to first order",
     false, "", 2},
    {"law_<null>", ColumnType::kText,
     "Law of p: beta (between 0 and the smaller rank), pearson3, sample (Monte Carlo) or normal; empty if there is "
     "nothing to compare with",
     false, "", 2},
});
inline constexpr FileSchema kEdges = {
    .command = "relate",
    .path = "edges.csv",
    .kind = "table",
    .about =
        "The edges that were kept, from earlier to later heads; within a pair of roles those beyond chance first, then "
        "the closest first.",
    .columns = kEdgeColumns};
inline constexpr std::array kWiringColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target, or all"},
    {"pairs", ColumnType::kInteger, "Pairs of heads, from earlier to later layers"},
    {"beyond_chance", ColumnType::kInteger, "Pairs that are beyond chance"},
    {"stands_out", ColumnType::kInteger, "Pairs that stand out among the pairs of their roles and layer distance"},
});
inline constexpr FileSchema kWiring = {
    .command = "relate",
    .path = "wiring.csv",
    .kind = "table",
    .about = "How many pairs of heads are beyond chance and how many stand out, kept or not.",
    .columns = kWiringColumns};
inline constexpr FileSchema kGraphMl = {
    .command = "relate",
    .path = "graph.graphml",
    .kind = "graph",
    .about = "Heads and kept edges, as GraphML; with --nodes all components and the edges of component_edges.csv."};
inline constexpr FileSchema kGexf = {
    .command = "relate", .path = "graph.gexf", .kind = "graph", .about = "The same graph, as GEXF."};
inline constexpr FileSchema kDot = {
    .command = "relate", .path = "graph.dot", .kind = "graph", .about = "The same graph, for Graphviz."};
inline constexpr FileSchema kMibGraph = {.command = "relate",
                                         .path = "graph_mib.json",
                                         .kind = "graph",
                                         .about =
                                             "All pairs of components as a circuit of the Mechanistic Interpretability "
                                             "Benchmark, scored by overlap; in_graph: "
                                             "kept edges beyond chance (--nodes with mlp)."};
inline constexpr std::array kComponentColumns = std::to_array<ColumnSchema>({
    {"component", ColumnType::kText, "Name: L4H7, L4KV1, L4M for an MLP, E, P or U", false, "", 2},
    {"kind", ColumnType::kText, "query, kv, mlp, embedding, position or unembedding", false, "", 2},
    {"role", ColumnType::kText,
     "How it writes (O of a head, M of an MLP, E, P) or reads (Q, K, V of a head, M of an MLP, U)", false, "", 2},
    {"reads", ColumnType::kFlag, "Whether this is how it reads; otherwise how it writes", false, "", 2},
    {"layer", ColumnType::kOptionalInteger, "Layer, if it is in one", false, "", 2},
    {"columns", ColumnType::kInteger, "Columns of its matrix: width of a head, neurons, tokens, positions", false, "",
     2},
    {"rank", ColumnType::kOptionalInteger, "Dimension of the column space, if it is known to be less than the stream's",
     false, "", 2},
    {"effective_dimension", ColumnType::kDouble,
     "1 / tr(rho^2): over how many directions the weights spread; empty if all are zero", false, "", 2},
});
inline constexpr FileSchema kComponents = {.command = "relate",
                                           .path = "components.csv",
                                           .kind = "table",
                                           .about =
                                               "The components that were compared, once per way of writing or reading, "
                                               "in the order of the rows and columns in "
                                               "components/ (--nodes).",
                                           .columns = kComponentColumns};
inline constexpr FileSchema kComponentOverlap = {.command = "relate",
                                                 .path = "components/overlap_<pair>.npy",
                                                 .kind = "array",
                                                 .about =
                                                     "Overlap d tr(rho rho') of what components of role <source> write "
                                                     "and those of role <target> read; NaN where the "
                                                     "source does not come before the target.",
                                                 .dtype = "float32",
                                                 .axes = {"source component", "target component"}};
inline constexpr FileSchema kComponentPk = {
    .command = "relate",
    .path = "components/pk_<pair>.npy",
    .kind = "array",
    .about =
        "pk / sqrt(p q) of the same components, with p and q their ranks; NaN also where a component fills the stream.",
    .dtype = "float32",
    .axes = {"source component", "target component"}};
inline constexpr std::array kComponentEdgeColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target, e.g. OM for heads to MLPs", false, "", 2},
    {"source", ColumnType::kText, "Component that writes", false, "", 2},
    {"target", ColumnType::kText, "Component that reads later", false, "", 2},
    {"overlap", ColumnType::kFloat, "d tr(rho rho'); 1 for directions that have nothing to do with each other", false,
     "", 2},
    {"pk_normalized", ColumnType::kFloat, "pk / sqrt(p q), if neither fills the stream", false, "", 2},
    {"rank", ColumnType::kInteger, "Rank within the pair: by overlap among edges beyond chance, then the others", false,
     "", 2},
    {"z_isotropic", ColumnType::kDouble, "Standard deviations above the mean under a random rotation", false, "", 2},
    {"p_isotropic", ColumnType::kDouble,
     "Probability of such an overlap under a random rotation; 1e-12 means at most that", false, "", 2},
    {"q_isotropic", ColumnType::kDouble, "False discovery rate at this p within the pair (Benjamini and Hochberg)",
     false, "", 2},
    {"log10_p_isotropic", ColumnType::kDouble, "Base-10 logarithm of p, without a limit", false, "", 2},
    {"z_span", ColumnType::kDouble,
     "Robust deviations above the median of the same pair and layer distance, or of the pair where that class is "
     "small; "
     "0 if that is small, too",
     false, "", 2},
    {"q_span", ColumnType::kDouble, "False discovery rate at this z within the pair", false, "", 2},
    {"beyond_chance", ColumnType::kFlag, "Whether q <= 0.05 under isotropic, over all pairs of components", false, "",
     2},
    {"stands_out", ColumnType::kFlag, "Whether it is beyond chance and q_span <= 0.05", false, "", 2},
});
inline constexpr FileSchema kComponentEdges = {.command = "relate",
                                               .path = "component_edges.csv",
                                               .kind = "table",
                                               .about =
                                                   "The edges between components that were kept; within a pair those "
                                                   "beyond chance first, then the largest overlap "
                                                   "first (--nodes).",
                                               .columns = kComponentEdgeColumns};
inline constexpr std::array kComponentWiringColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target, or all", false, "", 2},
    {"pairs", ColumnType::kInteger, "Pairs of components of which the source comes first", false, "", 2},
    {"beyond_chance", ColumnType::kInteger, "Pairs that are beyond chance", false, "", 2},
    {"stands_out", ColumnType::kInteger, "Pairs that stand out among the pairs of their roles and layer distance",
     false, "", 2},
});
inline constexpr FileSchema kComponentWiring = {
    .command = "relate",
    .path = "component_wiring.csv",
    .kind = "table",
    .about = "How many pairs of components are beyond chance and how many stand out, kept or not (--nodes).",
    .columns = kComponentWiringColumns};
inline constexpr std::array kNeuronColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name of the head", false, "", 2},
    {"role", ColumnType::kText, "Q, K, V: the head reads what the neuron writes; O: the neuron reads what it writes",
     false, "", 2},
    {"rank", ColumnType::kInteger, "1 is the strongest", false, "", 2},
    {"neuron", ColumnType::kText, "Name, e.g. L3N120: neuron 120 of the MLP in layer 3", false, "", 2},
    {"vector", ColumnType::kText, "out (written), up or gate (read)", false, "", 2},
    {"share", ColumnType::kDouble, "Share of the squared length of the neuron's vector that is in the head's space",
     false, "", 2},
    {"log10_p", ColumnType::kDouble,
     "Probability that a random direction has such a share (Beta, exact), as a base-10 logarithm", false, "", 2},
    {"q", ColumnType::kDouble,
     "False discovery rate at this p over all neurons that the head could talk to; 1e-12 means at most that", false, "",
     2},
});
inline constexpr FileSchema kNeurons = {
    .command = "relate",
    .path = "neurons.csv",
    .kind = "table",
    .about = "The neurons of earlier or later MLPs whose vectors are most in a head's spaces (--neurons).",
    .columns = kNeuronColumns};
inline constexpr std::array kNeuronTokenColumns = std::to_array<ColumnSchema>({
    {"neuron", ColumnType::kText, "Name", false, "", 2},
    {"vector", ColumnType::kText, "out, up or gate", false, "", 2},
    {"rank", ColumnType::kInteger, "1 is the closest token", false, "", 2},
    {"id", ColumnType::kInteger, "Token id", false, "", 2},
    {"token", ColumnType::kText, "Text of the token", false, "", 2},
    {"score", ColumnType::kDouble, "Cosine between the neuron's vector and the token's; negative: against it", false,
     "", 2},
    {"log10_p", ColumnType::kDouble, "Probability that a random direction is as close, as a logarithm", false, "", 2},
    {"q", ColumnType::kDouble, "False discovery rate at this p over the vocabulary", false, "", 2},
});
inline constexpr FileSchema kNeuronTokens = {
    .command = "relate",
    .path = "neuron_tokens.csv",
    .kind = "table",
    .about = "The tokens closest to the vectors of the neurons in neurons.csv.",
    .columns = kNeuronTokenColumns};
inline constexpr std::array kHubColumns = std::to_array<ColumnSchema>({
    {"rank", ColumnType::kInteger, "1 exceeds most what its layers explain"},
    {"head", ColumnType::kText, "Name"},
    {"strength", ColumnType::kDouble, "Sum of z over all pairs of the head that are beyond chance, kept or not"},
    {"in_degree", ColumnType::kInteger, "Kept edges into the head that are beyond chance"},
    {"out_degree", ColumnType::kInteger, "The same out of it"},
    {"in_strength", ColumnType::kDouble, "Sum of z over the edges of in_degree"},
    {"out_strength", ColumnType::kDouble, "Sum of z over the edges of out_degree"},
    {"pagerank", ColumnType::kDouble, "PageRank of the graph"},
    {"hub", ColumnType::kDouble, "Hub score (HITS)"},
    {"authority", ColumnType::kDouble, "Authority score (HITS)"},
    {"betweenness", ColumnType::kDouble, "Betweenness centrality"},
    {"reason", ColumnType::kText, "The same in words"},
    {"p_family", ColumnType::kDouble, "Probability of such a head anywhere if links met random heads of their layers",
     false, "", 2},
    {"significant", ColumnType::kFlag, "Whether p_family <= 0.05", false, "", 2},
});
inline constexpr FileSchema kHubs = {
    .command = "relate",
    .path = "hubs.csv",
    .kind = "table",
    .about =
        "Heads by how far the sum of z over their pairs beyond chance exceeds what their layers explain, with the "
        "measures of the graph of kept edges and the reason in words.",
    .columns = kHubColumns};
inline constexpr FileSchema kComponentHubs = {.command = "relate",
                                              .path = "component_hubs.csv",
                                              .kind = "table",
                                              .about =
                                                  "The same of components, with z under the span null; an MLP is alone "
                                                  "in its layer, which then explains all that "
                                                  "it has (--nodes).",
                                              .columns = kHubColumns};
inline constexpr FileSchema kCommunities = {
    .command = "relate",
    .path = "tree.json",
    .kind = "tree",
    .about = "Nested communities of heads: the flexible tree of their symmetrized affinity, root first."};
inline constexpr std::array kInformativenessColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target"},
    {"pairs", ColumnType::kInteger, "Number of pairs of heads"},
    {"observed_mean", ColumnType::kDouble, "Mean projection kernel"},
    {"observed_sd", ColumnType::kDouble, "Its standard deviation"},
    {"random_mean", ColumnType::kDouble, "Mean for random subspaces"},
    {"random_sd", ColumnType::kDouble, "Its standard deviation"},
    {"kl", ColumnType::kDouble, "KL(random || observed) in nats, with the bins of the paper"},
    {"bin_width", ColumnType::kDouble, "Width of these bins"},
    {"smoothed", ColumnType::kFlag, "Whether half a count was added to the bins"},
    {"kl_fine", ColumnType::kDouble, "The same with bins that fit the random distribution"},
    {"fine_width", ColumnType::kDouble, "Width of these bins"},
    {"fine_smoothed", ColumnType::kFlag, "Whether half a count was added to these bins"},
    {"kl_closed_form", ColumnType::kDouble,
     "The same between two normal distributions; holds for Gaussian data only, and affinities of trained models are "
     "not"},
    {"kl_low", ColumnType::kDouble,
     "Lower end of the 95 % interval of kl, by bootstrap over heads; empty where no interval would cover the truth",
     false, "", 2},
    {"kl_high", ColumnType::kDouble, "Upper end of this interval", false, "", 2},
    {"kl_ceiling", ColumnType::kDouble,
     "The largest kl that this number of pairs can show, because an empty bin counts as half a pair", false, "", 2},
    {"at_ceiling", ColumnType::kFlag,
     "Whether kl is at least 0.9 of the ceiling: it then shows the number of pairs, not a distance", false, "", 2},
});
inline constexpr FileSchema kInformativeness = {
    .command = "relate",
    .path = "informativeness.csv",
    .kind = "table",
    .about =
        "KL(random || observed) of the projection kernel over earlier-to-later pairs, in nats; smoothed: half a "
        "count was added to every bin that random touches, since one was empty.",
    .columns = kInformativenessColumns};
inline constexpr std::array kSensitivityColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target", false, "", 2},
    {"variant", ColumnType::kText, "The other weight processing", false, "", 2},
    {"gain", ColumnType::kFlag, "Whether the gain of the norm before attention is multiplied into Q, K and V", false,
     "", 2},
    {"centered", ColumnType::kFlag, "Whether the mean over the residual stream is subtracted", false, "", 2},
    {"removed", ColumnType::kInteger, "Leading eigenvectors of each role's mean projector that are projected out",
     false, "", 2},
    {"spearman", ColumnType::kDouble, "Rank correlation with the default, over earlier-to-later pairs", false, "", 2},
    {"top_overlap", ColumnType::kInteger, "How many of the closest pairs are among the closest by default, too", false,
     "", 2},
    {"top", ColumnType::kInteger, "Number of closest pairs compared", false, "", 2},
    {"pairs", ColumnType::kInteger, "Number of pairs of heads", false, "", 2},
});
inline constexpr FileSchema kSensitivity = {
    .command = "relate",
    .path = "sensitivity.csv",
    .kind = "table",
    .about =
        "How much the order of the pairs of heads by the first metric depends on the weight processing and on "
        "directions common to all heads (--sensitivity).",
    .columns = kSensitivityColumns};
inline constexpr std::array kLabelColumns = std::to_array<ColumnSchema>({
    {"metric", ColumnType::kText, "Name of the metric"},
    {"pair", ColumnType::kText, "Roles of source and target"},
    {"pairs", ColumnType::kInteger, "Number of pairs of heads"},
    {"positives", ColumnType::kInteger, "Pairs in which both heads are labeled"},
    {"pr_auc", ColumnType::kDouble, "Area under the precision-recall curve (average precision)"},
    {"roc_auc", ColumnType::kDouble, "Area under the ROC curve"},
    {"precision_at_k", ColumnType::kDouble, "Fraction of positives among the top k pairs"},
    {"k", ColumnType::kInteger, "That k"},
    {"heads_in_classes", ColumnType::kInteger, "Labeled heads among the top k edges of all pairs of the metric"},
    {"heads_outside", ColumnType::kInteger, "Other heads among them"},
});
inline constexpr FileSchema kLabels = {
    .command = "relate",
    .path = "labels.csv",
    .kind = "table",
    .about =
        "How well each metric finds pairs of labeled heads (both labeled, ignored classes not counted); heads in "
        "and outside classes among the top k edges of all pairs of the metric.",
    .columns = kLabelColumns};
inline constexpr std::array kTokenColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"role", ColumnType::kText, "Q, K, V or O"},
    {"rank", ColumnType::kInteger, "1 is the closest token"},
    {"id", ColumnType::kInteger, "Token id"},
    {"token", ColumnType::kText, "Text of the token"},
    {"score", ColumnType::kDouble, "Cosine of the angle between the token's vector and the subspace"},
    {.name = "log10_p",
     .type = ColumnType::kDouble,
     .about = "Probability that a random direction is as close, as a logarithm",
     .since = 2},
    {.name = "q",
     .type = ColumnType::kDouble,
     .about = "Benjamini-Hochberg q-value over the vocabulary; at most this if 1e-12",
     .since = 2},
});
inline constexpr FileSchema kTokenProfiles = {
    .command = "relate",
    .path = "tokens.csv",
    .kind = "table",
    .about = "The tokens closest to a head's subspace, best first: the cosine of their angle to it.",
    .columns = kTokenColumns};

// capture

inline constexpr FileSchema kPattern = {.command = "capture",
                                        .path = "pattern.npy",
                                        .kind = "array",
                                        .about = "Attention after the softmax; 0 where masked.",
                                        .dtype = "float32 or float16",
                                        .axes = {"head", "query", "key"},
                                        .per_input = true};
inline constexpr FileSchema kScores = {.command = "capture",
                                       .path = "scores.npy",
                                       .kind = "array",
                                       .about = "Scaled attention scores before mask and softmax, for all keys.",
                                       .dtype = "float32 or float16",
                                       .axes = {"head", "query", "key"},
                                       .per_input = true};
inline constexpr FileSchema kSinks = {
    .command = "capture",
    .path = "sinks.npy",
    .kind = "array",
    .about =
        "Share of the softmax that goes to the head's sink, which is no key: a row of pattern.npy sums to 1 less this "
        "(families with sinks only).",
    .dtype = "float32",
    .axes = {"head", "query"},
    .per_input = true};
inline constexpr FileSchema kOutput = {.command = "capture",
                                       .path = "output.npy",
                                       .kind = "array",
                                       .about = "Logits.",
                                       .dtype = "float32",
                                       .axes = {"token", "class"},
                                       .per_input = true};
/// The output of a model without an output head: the same file with another meaning.
inline constexpr FileSchema kHiddenState = {.command = "capture",
                                            .path = "output.npy",
                                            .kind = "array",
                                            .about = "The last hidden state.",
                                            .dtype = "float32",
                                            .axes = {"token", "channel"},
                                            .per_input = true};
inline constexpr FileSchema kTokens = {.command = "capture",
                                       .path = "tokens.json",
                                       .kind = "tokens",
                                       .about = "The tokens or patches of the maps' axes, their heads and their mask.",
                                       .per_input = true};
inline constexpr FileSchema kThumbnail = {
    .command = "capture",
    .path = "thumbnail.npy",
    .kind = "array",
    .about =
        "The image that the patches cover, as the model sees it, at most 320 pixels a side; 0 to 255 (images only).",
    .dtype = "uint8",
    .axes = {"row", "column", "color"},
    .per_input = true};
inline constexpr std::array kAttentionColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"layer", ColumnType::kInteger, "Layer, from 0, of its block"},
    {"index", ColumnType::kInteger, "Index within the layer, from 0"},
    {"entropy", ColumnType::kDouble, "Mean over queries of -sum A ln A, in nats"},
    {"first", ColumnType::kDouble, "Mean attention on the first token"},
    {"self", ColumnType::kDouble, "Mean attention on the query's own token"},
    {"previous", ColumnType::kDouble, "Mean attention on the token before"},
    {"block", ColumnType::kText, "encoder, decoder or cross, if the model has such blocks", false, "", 2},
});
inline constexpr FileSchema kAttention = {
    .command = "capture",
    .path = "attention.csv",
    .kind = "table",
    .about =
        "Every head's mean entropy in nats and mean attention on the first token, on itself and on the token "
        "before.",
    .columns = kAttentionColumns};
inline constexpr std::array kEffectColumns = std::to_array<ColumnSchema>({
    {"ablated", ColumnType::kText, "Heads that were left out, separated by spaces"},
    {"ablation", ColumnType::kText, "zero or mean"},
    {"loss_before", ColumnType::kDouble, "Loss in nats, if the model predicts the next token"},
    {"loss_after", ColumnType::kDouble, "The same without the heads"},
    {"accuracy_before", ColumnType::kDouble, "Fraction of correct predictions"},
    {"accuracy_after", ColumnType::kDouble, "The same without the heads"},
    {"kl", ColumnType::kDouble, "KL divergence from the output before to the output after, in nats"},
    {"agreement", ColumnType::kDouble, "Fraction of outputs whose most likely class stayed the same"},
    {"change", ColumnType::kDouble, "Relative change of the output"},
});
inline constexpr FileSchema kEffect = {
    .command = "capture",
    .path = "effect.csv",
    .kind = "table",
    .about = "What leaving the ablated heads out does to the output: loss, accuracy, KL, agreement.",
    .columns = kEffectColumns};

// detect

inline constexpr std::array kDetectorColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"layer", ColumnType::kInteger, "Layer, from 0"},
    {"index", ColumnType::kInteger, "Index within the layer, from 0"},
    {"previous", ColumnType::kDouble, "Mean attention on the token before"},
    {"identity", ColumnType::kDouble, "On the token itself"},
    {"duplicate", ColumnType::kDouble, "On the earlier occurrence of the same token"},
    {"induction", ColumnType::kDouble, "On the token that followed it"},
    {"threshold", ColumnType::kDouble, "Score from which a head counts as detected"},
    {"detected", ColumnType::kText, "Detectors whose threshold the head reaches at all lengths, separated by spaces"},
    {"at_one_length", ColumnType::kText, "Detectors whose threshold it reaches at only one of the lengths", false, "",
     2},
    {"previous_sd", ColumnType::kDouble, "Standard deviation of previous over sequences", false, "", 2},
    {"identity_sd", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_sd", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_sd", ColumnType::kDouble, "The same of induction", false, "", 2},
    {"previous_second", ColumnType::kDouble, "Score at the second length", false, "", 2},
    {"identity_second", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_second", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_second", ColumnType::kDouble, "The same of induction", false, "", 2},
    {"previous_second_sd", ColumnType::kDouble, "Standard deviation over sequences at the second length", false, "", 2},
    {"identity_second_sd", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_second_sd", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_second_sd", ColumnType::kDouble, "The same of induction", false, "", 2},
});
inline constexpr FileSchema kDetectors = {
    .command = "detect",
    .path = "detectors.csv",
    .kind = "table",
    .about =
        "How much every head looks at the previous token, at itself, at an earlier copy of the token and at what "
        "followed it.",
    .columns = kDetectorColumns};
inline constexpr std::array kDetectorLengthColumns = std::to_array<ColumnSchema>({
    {"detector", ColumnType::kText, "Name", false, "", 2},
    {"length", ColumnType::kInteger, "Tokens per sequence, without BOS", false, "", 2},
    {"sequences", ColumnType::kInteger, "Number of sequences", false, "", 2},
    {"chance", ColumnType::kDouble, "Score of a head that attends to all visible tokens alike", false, "", 2},
    {"threshold", ColumnType::kDouble, "Score from which a head counts as detected", false, "", 2},
    {"heads", ColumnType::kInteger, "Heads that reach the threshold at this length", false, "", 2},
});
inline constexpr FileSchema kDetectorLengths = {
    .command = "detect",
    .path = "detector_lengths.csv",
    .kind = "table",
    .about = "The lengths at which heads were scored, with the score of uniform attention and the heads found.",
    .columns = kDetectorLengthColumns};
inline constexpr FileSchema kDetectedLabels = {.command = "detect",
                                               .path = "labels.json",
                                               .kind = "labels",
                                               .about = "The detected heads as a label file for relate --labels."};

// patch

inline constexpr FileSchema kScreen = {
    .command = "patch",
    .path = "screen/<pair>.npy",
    .kind = "array",
    .about =
        "Local effect of every edge into role <target>: relative change of the target's output, root mean square over "
        "tokens; 0 where the target is not later.",
    .dtype = "float32",
    .axes = {"source head", "target head"}};
inline constexpr std::array kPatchColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target, e.g. OQ"},
    {"source", ColumnType::kText, "Head of the earlier layer"},
    {"target", ColumnType::kText, "Head of the later layer; a KV head for OK and OV if the model groups queries"},
    {"pk", ColumnType::kDouble, "Projection kernel"},
    {"z", ColumnType::kDouble, "Its standard deviations above the mean of the matched null"},
    {"local", ColumnType::kDouble, "Local effect, from the screen"},
    {"effect", ColumnType::kDouble, "Change of the loss (in nats) or of the logit difference when the edge is cut"},
    {"kind", ColumnType::kText, "top (of the projection kernel), screen (of the screen), given, or control (random)"},
    {"beyond_chance", ColumnType::kFlag, "As in edges.csv"},
    {"sample", ColumnType::kText, "The kind; of a control, the kind of the edge whose layers and roles it has"},
    {"above_controls", ColumnType::kFlag, "Whether |effect| is above the 99 % quantile of the controls of its pair"},
    {"in_circuit", ColumnType::kFlag, "Whether it is both beyond chance and above the controls"},
});
inline constexpr FileSchema kPatch = {.command = "patch",
                                      .path = "patch.csv",
                                      .kind = "table",
                                      .about = "The edges that were cut, one at a time, with their effects.",
                                      .columns = kPatchColumns};
inline constexpr std::array kPatchAgreementColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "Roles of source and target"},
    {"sample", ColumnType::kText, "top, screen or given: these edges and their controls"},
    {"chosen", ColumnType::kInteger, "Edges that were cut, without the controls"},
    {"controls", ColumnType::kInteger, "Random edges between the same layers that were cut"},
    {"level", ColumnType::kDouble, "99 % quantile of |effect| over all controls of the pair"},
    {"above", ColumnType::kInteger, "Chosen edges with |effect| above it"},
    {"median", ColumnType::kDouble, "Median |effect| of the chosen edges"},
    {"median_control", ColumnType::kDouble, "The same of the controls"},
    {"auc_pk", ColumnType::kDouble, "Area under the ROC curve of the projection kernel for |effect| above the level"},
    {"auc_z", ColumnType::kDouble, "The same of its z"},
    {"auc_local", ColumnType::kDouble, "The same of the local effect"},
    {"rank_correlation_pk", ColumnType::kDouble, "Spearman correlation of the projection kernel with |effect|"},
    {"rank_correlation_local", ColumnType::kDouble, "The same of the local effect"},
    {"p", ColumnType::kDouble,
     "Probability that random edges exceed their controls as clearly (rank-sum and precedence test)"},
});
inline constexpr FileSchema kPatchAgreement = {
    .command = "patch",
    .path = "patch_agreement.csv",
    .kind = "table",
    .about = "How effects of cut edges compare with random edges, with the projection kernel and with the screen.",
    .columns = kPatchAgreementColumns};
inline constexpr std::array kPatchComponentColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "OM (from a head to an MLP) or OU (to the unembedding)"},
    {"source", ColumnType::kText, "The head"},
    {"target", ColumnType::kText, "MLP such as L4M, or U"},
    {"overlap", ColumnType::kDouble, "Overlap of what is written and what is read, as in component_edges.csv"},
    {"z", ColumnType::kDouble, "Its standard deviations above the mean of the isotropic null"},
    {"effect", ColumnType::kDouble, "Change of the loss (in nats) or of the logit difference when the edge is cut"},
    {"kind", ColumnType::kText, "top (of the overlap), given, or control (another head of the layer, at random)"},
    {"beyond_chance", ColumnType::kFlag, "As in component_edges.csv, over the pairs that are compared here"},
    {"above_controls", ColumnType::kFlag, "Whether |effect| is above the 99 % quantile of the controls of its pair"},
    {"in_circuit", ColumnType::kFlag, "Whether it is both beyond chance and above the controls"},
});
inline constexpr FileSchema kPatchComponents = {
    .command = "patch",
    .path = "patch_components.csv",
    .kind = "table",
    .about = "The edges to MLPs and the unembedding that were cut, one at a time, with their effects.",
    .columns = kPatchComponentColumns};
inline constexpr std::array kPatchComponentAgreementColumns = std::to_array<ColumnSchema>({
    {"pair", ColumnType::kText, "OM or OU"},
    {"chosen", ColumnType::kInteger, "Edges that were cut, without the controls"},
    {"controls", ColumnType::kInteger, "Edges from other heads of the same layers that were cut"},
    {"level", ColumnType::kDouble, "99 % quantile of |effect| over all controls of the pair"},
    {"above", ColumnType::kInteger, "Chosen edges with |effect| above it"},
    {"median", ColumnType::kDouble, "Median |effect| of the chosen edges"},
    {"median_control", ColumnType::kDouble, "The same of the controls"},
    {"auc_overlap", ColumnType::kDouble, "Area under the ROC curve of the overlap for |effect| above the level"},
    {"auc_z", ColumnType::kDouble, "The same of its z"},
    {"rank_correlation_overlap", ColumnType::kDouble, "Spearman correlation of the overlap with |effect|"},
    {"p", ColumnType::kDouble,
     "Probability that random edges exceed their controls as clearly (rank-sum and precedence test)"},
});
inline constexpr FileSchema kPatchComponentAgreement = {
    .command = "patch",
    .path = "patch_component_agreement.csv",
    .kind = "table",
    .about = "How effects of cut edges to MLPs and the unembedding compare with random edges and with the overlap.",
    .columns = kPatchComponentAgreementColumns};
inline constexpr FileSchema kCircuitGraph = {
    .command = "patch",
    .path = "circuit.graphml",
    .kind = "graph",
    .about = "The edges that are beyond chance and above the controls, as GraphML; without controls, the given edges."};
inline constexpr FileSchema kCircuit = {
    .command = "patch",
    .path = "circuit.json",
    .kind = "graph",
    .about = "The same edges and their ends as JSON, with the level of each pair and the metric with nothing cut."};

// organize

inline constexpr FileSchema kAxisTree = {.command = "organize",
                                         .path = "trees/<axis>.json",
                                         .kind = "tree",
                                         .about = "The partition tree of the <axis> axis, root first, leaves last."};
inline constexpr FileSchema kAxisAffinity = {
    .command = "organize",
    .path = "affinity/<axis>.npy",
    .kind = "array",
    .about = "Affinity exp(-EMD / (epsilon * median)) the <axis> tree was made from.",
    .dtype = "float32",
    .axes = {"<axis>", "<axis>"}};
inline constexpr FileSchema kAxisEmbedding = {
    .command = "organize",
    .path = "embedding/<axis>.npy",
    .kind = "array",
    .about = "Diffusion map of the <axis> axis: leading non-trivial coordinates.",
    .dtype = "float32",
    .axes = {"<axis>", "coordinate"}};
inline constexpr FileSchema kAxisOrder = {.command = "organize",
                                          .path = "order/<axis>.npy",
                                          .kind = "array",
                                          .about = "The <axis> elements in the order of the leaves of their tree.",
                                          .dtype = "int64",
                                          .axes = {"<axis>"}};
inline constexpr FileSchema kHaar = {
    .command = "organize",
    .path = "haar/network.npy",
    .kind = "array",
    .about =
        "Tri-Haar coefficients of the network tensor; coefficient 0 of an axis is the constant, then contrasts "
        "folder by folder from the root down.",
    .dtype = "float32",
    .axes = {"head coefficient", "query coefficient", "key coefficient"}};
inline constexpr std::array kSparsityColumns = std::to_array<ColumnSchema>({
    {"name", ColumnType::kText, "network, or the name of a head"},
    {"gain", ColumnType::kDouble,
     "control_l1 / l1: how much sparser the trees make the maps than maps with the same mask and row values, organized "
     "again; empty without a control"},
    {"gain_low", ColumnType::kDouble, "The smallest gain over the inputs and draws", false, {}, 2},
    {"gain_high", ColumnType::kDouble, "The largest", false, {}, 2},
    {"gain_keys",
     ColumnType::kDouble,
     "The same over maps that also keep, nearly, the mean attention to every key: entries move among keys of similar "
     "mean attention",
     false,
     {},
     2},
    {"gains", ColumnType::kFlag,
     "Whether gain and gain_keys both reach 1.3 (a head), or 1.15 with at least 10 % of the heads gaining (network): "
     "more "
     "than random weights do"},
    {"gain_shuffled", ColumnType::kDouble, "l1_shuffled / l1; random causal maps reach 1.15 to 1.37", false, {}, 2},
    {"<figure>", ColumnType::kDouble,
     "l1 (norm over the l2 norm), needed_99 (fraction of coefficients that holds 99 % of the energy), top_x% (energy "
     "of the largest), error_x% (of keeping only the largest), entropy, alpha (regularity)"},
    {"control_<figure>", ColumnType::kDouble, "Mean over the controls with the same mask and row values", true, {}, 2},
    {"<figure>_shuffled", ColumnType::kDouble, "Mean over shuffled trees", true},
    {"<figure>_shuffled_low", ColumnType::kDouble, "Where another draw lies with 95 %: lower end", true},
    {"<figure>_shuffled_high", ColumnType::kDouble, "Upper end", true},
});
inline constexpr FileSchema kSparsity = {
    .command = "organize",
    .path = "sparsity.csv",
    .kind = "table",
    .about =
        "How few Haar coefficients hold the network (tri-Haar) and each head (bi-Haar) of the first input, beside "
        "controls: maps with the same mask and row values, organized again, and shuffled trees (mean and where another "
        "draw lies with 95 %).",
    .columns = kSparsityColumns};
inline constexpr std::array kOrganizedInputColumns = std::to_array<ColumnSchema>({
    {"input", ColumnType::kInteger, "Number, from 0", false, {}, 2},
    {"name", ColumnType::kText, "Where it came from", false, {}, 2},
    {"queries", ColumnType::kInteger, "Queries that were organized", false, {}, 2},
    {"keys", ColumnType::kInteger, "Keys", false, {}, 2},
    {"l1", ColumnType::kDouble, "Of the network, under the trees of this input", false, {}, 2},
    {"control_l1", ColumnType::kDouble, "Of the controls with the same mask and row values", false, {}, 2},
    {"gain", ColumnType::kDouble, "control_l1 / l1", false, {}, 2},
    {"gain_keys",
     ColumnType::kDouble,
     "The same over controls that also keep the mean attention to every key",
     false,
     {},
     2},
    {"gains", ColumnType::kFlag, "As in sparsity.csv", false, {}, 2},
    {"heads_gaining", ColumnType::kInteger, "Heads that gain on this input", false, {}, 2},
    {"alpha", ColumnType::kDouble, "Regularity of the network; negative: no regularity found", false, {}, 2},
});
inline constexpr FileSchema kOrganizedInputs = {
    .command = "organize",
    .path = "inputs.csv",
    .kind = "table",
    .about = "The inputs that were organized, and the gain of the network on each.",
    .columns = kOrganizedInputColumns};
inline constexpr std::array kStabilityColumns = std::to_array<ColumnSchema>({
    {"axis", ColumnType::kText, "head, query or key; the latter two for inputs of equal length", false, {}, 2},
    {"input_a", ColumnType::kInteger, "Number of an input", false, {}, 2},
    {"input_b", ColumnType::kInteger, "Number of another input", false, {}, 2},
    {"cophenetic", ColumnType::kDouble, "Cophenetic correlation of the trees of the two inputs", false, {}, 2},
    {"cophenetic_control",
     ColumnType::kDouble,
     "Of the trees of their controls with the same mask and row values",
     false,
     {},
     2},
});
inline constexpr FileSchema kStability = {
    .command = "organize",
    .path = "stability.csv",
    .kind = "table",
    .about = "How well the trees of different inputs agree, for every pair of inputs.",
    .columns = kStabilityColumns};
inline constexpr FileSchema kConsensusTree = {
    .command = "organize",
    .path = "trees/head_consensus.json",
    .kind = "tree",
    .about = "The tree of heads from the geometric mean of their affinities over all inputs."};
inline constexpr std::array kDecayColumns = std::to_array<ColumnSchema>({
    {"name", ColumnType::kText, "network, or the name of a head"},
    {"rank", ColumnType::kInteger, "1 is the largest coefficient"},
    {"found", ColumnType::kDouble, "Magnitude under the trees that were found"},
    {"shuffled", ColumnType::kDouble, "Under shuffled trees"},
});
inline constexpr FileSchema kDecay = {
    .command = "organize",
    .path = "decay.csv",
    .kind = "table",
    .about = "Sorted magnitudes of the coefficients over their l2 norm, the constant left out.",
    .columns = kDecayColumns};
inline constexpr std::array kConvergenceColumns = std::to_array<ColumnSchema>({
    {"iteration", ColumnType::kInteger, "From 1"},
    {"score", ColumnType::kDouble, "Sum of |Haar coefficients|"},
});
inline constexpr FileSchema kConvergence = {
    .command = "organize",
    .path = "convergence.csv",
    .kind = "table",
    .about = "Sum of |Haar coefficients| after each iteration of the questionnaire.",
    .columns = kConvergenceColumns};
inline constexpr std::array kSpectrumColumns = std::to_array<ColumnSchema>({
    {"axis", ColumnType::kText, "head, query or key"},
    {"rank", ColumnType::kInteger, "1 is the largest after the trivial eigenvalue"},
    {"eigenvalue", ColumnType::kDouble, "Of the Markov matrix"},
});
inline constexpr FileSchema kSpectrum = {.command = "organize",
                                         .path = "embedding/spectrum.csv",
                                         .kind = "table",
                                         .about = "Eigenvalues of the Markov matrices next to the first, by magnitude.",
                                         .columns = kSpectrumColumns};

// softmax

inline constexpr std::array kInvarianceColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"error_first", ColumnType::kDouble, "Relative error of the first-order paraproduct"},
    {"error_second", ColumnType::kDouble, "Of the second-order one"},
    {"error_first_shuffled", ColumnType::kDouble, "The same under shuffled trees"},
    {"error_second_shuffled", ColumnType::kDouble, "The same under shuffled trees"},
    {"error_first_control",
     ColumnType::kDouble,
     "The same of scores permuted within each row, on trees of their own; empty without a control",
     false,
     {},
     2},
    {"error_second_control", ColumnType::kDouble, "Likewise", false, {}, 2},
    {"cophenetic_query_control",
     ColumnType::kDouble,
     "Cophenetic correlation of the query trees of permuted scores and of their softmax",
     false,
     {},
     2},
    {"cophenetic_key_control", ColumnType::kDouble, "Of the key trees", false, {}, 2},
    {"alpha_<part>", ColumnType::kDouble,
     "Regularity of scores, softmax, approximation and residual; negative: no regularity found"},
    {"alpha_<part>_shuffled", ColumnType::kDouble, "Under shuffled trees"},
    {"<pair>_affinity_query", ColumnType::kDouble,
     "Agreement of two organizations (scores_softmax, scores_approximation, softmax_approximation): correlation of "
     "the affinities of queries"},
    {"<pair>_affinity_key", ColumnType::kDouble, "Of keys", true},
    {"<pair>_rand_query", ColumnType::kDouble, "Mean adjusted Rand index of the levels of the query trees", true},
    {"<pair>_rand_key", ColumnType::kDouble, "Of the key trees", true},
    {"<pair>_cophenetic_query", ColumnType::kDouble, "Cophenetic correlation of the query trees", true},
    {"<pair>_cophenetic_key", ColumnType::kDouble, "Of the key trees", true},
});
inline constexpr FileSchema kInvariance = {
    .command = "softmax",
    .path = "invariance.csv",
    .kind = "table",
    .about =
        "For each head of the first input: errors of the paraproduct and fitted exponents, beside shuffled trees and "
        "scores permuted within rows; agreement of the organizations of scores, softmax and approximation.",
    .columns = kInvarianceColumns};
inline constexpr std::array kInvarianceInputColumns = std::to_array<ColumnSchema>({
    {"input", ColumnType::kInteger, "Number, from 0", false, {}, 2},
    {"name", ColumnType::kText, "Where it came from", false, {}, 2},
    {"queries", ColumnType::kInteger, "Queries", false, {}, 2},
    {"keys", ColumnType::kInteger, "Keys", false, {}, 2},
    {"error", ColumnType::kDouble, "Median over heads of error_second", false, {}, 2},
    {"error_shuffled", ColumnType::kDouble, "Of error_second_shuffled", false, {}, 2},
    {"error_control", ColumnType::kDouble, "Of error_second_control", false, {}, 2},
    {"agreement",
     ColumnType::kDouble,
     "Median over heads of the cophenetic correlation of scores and softmax, mean of queries and keys",
     false,
     {},
     2},
    {"agreement_control", ColumnType::kDouble, "The same for scores permuted within rows", false, {}, 2},
});
inline constexpr FileSchema kInvarianceInputs = {
    .command = "softmax",
    .path = "invariance_inputs.csv",
    .kind = "table",
    .about = "The inputs that were analyzed, with medians over their heads.",
    .columns = kInvarianceInputColumns};
inline constexpr std::array kInvarianceLevelColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"pair", ColumnType::kText, "The two organizations, e.g. scores_softmax"},
    {"axis", ColumnType::kText, "query or key"},
    {"level_a", ColumnType::kInteger, "Level of the first tree"},
    {"level_b", ColumnType::kInteger, "Level of the second tree with the most similar number of folders"},
    {"folders_a", ColumnType::kInteger, "Folders of that level"},
    {"folders_b", ColumnType::kInteger, "Folders of that level"},
    {"rand_index", ColumnType::kDouble, "Adjusted Rand index of the two partitions"},
});
inline constexpr FileSchema kInvarianceLevels = {.command = "softmax",
                                                 .path = "invariance_levels.csv",
                                                 .kind = "table",
                                                 .about = "Adjusted Rand index of the organizations, level by level.",
                                                 .columns = kInvarianceLevelColumns};
inline constexpr FileSchema kParaproduct = {
    .command = "softmax",
    .path = "paraproduct/<head>.npz",
    .kind = "arrays",
    .about = "Scores, their softmax, and its approximations by the tensor paraproduct.",
    .dtype = "float64",
    .axes = {"query", "key"}};

// prune

inline constexpr std::array kRankingColumns = std::to_array<ColumnSchema>({
    {"criterion", ColumnType::kText, "Name of the criterion"},
    {"seed", ColumnType::kOptionalInteger, "Of a random order"},
    {"rank", ColumnType::kInteger, "1 is removed first"},
    {"head", ColumnType::kText, "Name"},
    {"layer", ColumnType::kInteger, "Layer, from 0"},
    {"index", ColumnType::kInteger, "Index within the layer, from 0"},
    {"score", ColumnType::kDouble, "Score under the criterion"},
    {"removed", ColumnType::kFlag, "Whether the budget removes it"},
    {"zero_already", ColumnType::kFlag, "Whether it writes nothing in the original model"},
});
inline constexpr FileSchema kRanking = {
    .command = "prune",
    .path = "ranking.csv",
    .kind = "table",
    .about = "The heads in the order each criterion removes them, and which of them the budget takes.",
    .columns = kRankingColumns};
inline constexpr std::array kCurveColumns = std::to_array<ColumnSchema>({
    {"criterion", ColumnType::kText, "Name of the criterion"},
    {"seed", ColumnType::kOptionalInteger, "Of a random order"},
    {"removed", ColumnType::kInteger, "Number of heads removed"},
    {"loss", ColumnType::kDouble, "Loss in nats, if the correct answers are known"},
    {"accuracy", ColumnType::kDouble, "Fraction of correct outputs"},
    {"kl", ColumnType::kDouble, "KL divergence from the unpruned output, in nats"},
    {"agreement", ColumnType::kDouble, "Fraction of outputs whose most likely class stayed the same"},
    {"change", ColumnType::kDouble, "Relative change of the output"},
});
inline constexpr FileSchema kCurve = {
    .command = "prune",
    .path = "curve.csv",
    .kind = "table",
    .about =
        "What the model does with the first so many heads of a ranking removed: loss and accuracy, KL to the "
        "unpruned output in nats, share of outputs that stayed, relative change.",
    .columns = kCurveColumns};
inline constexpr std::array kOrderColumns = std::to_array<ColumnSchema>({
    {"control", ColumnType::kText, "random, or random-by-layer: as many heads of each layer as the criterion removes"},
    {"criterion", ColumnType::kText, "Criterion whose numbers of heads per layer it has; empty for random"},
    {"seed", ColumnType::kInteger, "Seed of the order"},
    {"damage", ColumnType::kDouble, "Damage at the full budget"},
    {"loss", ColumnType::kDouble, "As in curve.csv"},
    {"accuracy", ColumnType::kDouble, "As in curve.csv"},
    {"kl", ColumnType::kDouble, "As in curve.csv"},
    {"agreement", ColumnType::kDouble, "As in curve.csv"},
    {"change", ColumnType::kDouble, "As in curve.csv"},
});
inline constexpr FileSchema kOrders = {
    .command = "prune",
    .path = "orders.csv",
    .kind = "table",
    .about = "Every random order at the full budget: the controls that the criteria are compared with.",
    .columns = kOrderColumns};
inline constexpr FileSchema kPruning = {
    .command = "prune",
    .path = "prune.json",
    .kind = "summary",
    .about = "Every criterion at the budget beside the random orders, and which criteria beat them."};
inline constexpr FileSchema kPruned = {
    .command = "prune",
    .path = "pruned.json",
    .kind = "heads",
    .about = "The heads that were removed, by which criterion, and what that did to the model."};
inline constexpr FileSchema kPrunedCheckpoint = {
    .command = "prune", .path = "pruned/<file>", .kind = "checkpoint", .about = "A file of the pruned model."};

// compare

inline constexpr std::array kComparisonColumns = std::to_array<ColumnSchema>({
    {"a", ColumnType::kText, "Name of the first run"},
    {"b", ColumnType::kText, "Name of the second run"},
    {"feature", ColumnType::kText, "What is compared"},
    {"mean_a", ColumnType::kDouble, "Mean of the first run over its inputs"},
    {"mean_b", ColumnType::kDouble, "Of the second run"},
    {"difference", ColumnType::kDouble, "Difference of the means; of curves the root mean square"},
    {"spread", ColumnType::kDouble, "Spread over inputs"},
    {"p", ColumnType::kDouble, "p-value of the permutation test of this feature alone"},
    {"p_family", ColumnType::kDouble,
     "The same, corrected for the number of features (largest statistic) and of pairs of runs (Bonferroni)", false,
     "p_holm"},
    {"paired", ColumnType::kFlag, "Whether both runs have the same inputs"},
    {"verdict", ColumnType::kText, "none, differs or untested"},
});
inline constexpr FileSchema kComparison = {
    .command = "compare",
    .path = "comparison.csv",
    .kind = "table",
    .about =
        "How every feature differs between every two runs, beside its spread over inputs; of curves the means are "
        "over their components and the difference is a root mean square.",
    .columns = kComparisonColumns};
inline constexpr std::array kFeatureColumns = std::to_array<ColumnSchema>({
    {"run", ColumnType::kText, "Name of the run"},
    {"input", ColumnType::kOptionalInteger, "Index of the input; empty for features of the weights"},
    {"feature", ColumnType::kText, "Name of the feature"},
    {"x", ColumnType::kDouble, "Point of a curve; empty for a single number"},
    {"value", ColumnType::kDouble, "The feature"},
});
inline constexpr FileSchema kFeatures = {
    .command = "compare",
    .path = "features.csv",
    .kind = "table",
    .about =
        "Every feature of every run on every input: figures, and curves by x (share of the coefficients, rank of "
        "the eigenvalue).",
    .columns = kFeatureColumns};
inline constexpr FileSchema kDistances = {
    .command = "compare",
    .path = "distances.npy",
    .kind = "array",
    .about =
        "Distance between runs: root mean square over features of difference over deviation; names are in "
        "compare.json.",
    .dtype = "float32",
    .axes = {"run", "run"}};
inline constexpr FileSchema kCompared = {
    .command = "compare",
    .path = "compare.json",
    .kind = "names",
    .about = "The runs and features that were compared, in order, and the verdict on every two runs."};
inline constexpr FileSchema kComparedTree = {
    .command = "compare",
    .path = "compared/<run>/<axis>.json",
    .kind = "tree",
    .about = "Run <run>: the partition tree of the <axis> axis on the first input."};
inline constexpr FileSchema kComparedAffinity = {.command = "compare",
                                                 .path = "compared/<run>/<axis>.npy",
                                                 .kind = "array",
                                                 .about = "Run <run>: the affinity that tree was made from.",
                                                 .dtype = "float32",
                                                 .axes = {"<axis>", "<axis>"}};

}  // namespace run_files

}  // namespace headscope
