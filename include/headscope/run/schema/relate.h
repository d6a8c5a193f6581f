#pragma once

#include <array>

#include "headscope/run/schema.h"

// What relate writes: heads, their affinities, the edges that were kept, and what is found in them.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
