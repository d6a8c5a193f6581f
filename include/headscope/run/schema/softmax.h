#pragma once

#include <array>

#include "headscope/run/schema.h"

// What softmax writes: whether the softmax keeps the organization of the scores.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
