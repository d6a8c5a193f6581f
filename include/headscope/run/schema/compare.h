#pragma once

#include <array>

#include "headscope/run/schema.h"

// What compare writes: distances between networks, and the trees they come from.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
