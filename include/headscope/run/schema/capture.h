#pragma once

#include <array>

#include "headscope/run/schema.h"

// What capture writes: maps, outputs and tokens of each input, and what was measured of them.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
