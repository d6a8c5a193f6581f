#pragma once

#include <array>

#include "headscope/run/schema.h"
#include "headscope/run/schema/relate.h"

// What relate --nodes writes: components other than heads, and single neurons.
namespace headscope::run_files {

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
inline constexpr FileSchema kComponentHubs = {.command = "relate",
                                              .path = "component_hubs.csv",
                                              .kind = "table",
                                              .about =
                                                  "The same of components, with z under the span null; an MLP is alone "
                                                  "in its layer, which then explains all that "
                                                  "it has (--nodes).",
                                              .columns = kHubColumns};

}  // namespace headscope::run_files
