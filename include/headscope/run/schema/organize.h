#pragma once

#include <array>

#include "headscope/run/schema.h"

// What organize writes: trees, embeddings and orders of the axes, and how sparse the maps are in their bases.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
