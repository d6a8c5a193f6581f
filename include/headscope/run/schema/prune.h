#pragma once

#include <array>

#include "headscope/run/schema.h"

// What prune writes: the order of the heads, the measured damage, and the pruned model.
namespace headscope::run_files {

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
inline constexpr FileSchema kCurve = {.command = "prune",
                                      .path = "curve.csv",
                                      .kind = "table",
                                      .about =
                                          "What the model does after the first heads of a ranking are removed, per "
                                          "number of heads: loss and accuracy, KL to the "
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

}  // namespace headscope::run_files
