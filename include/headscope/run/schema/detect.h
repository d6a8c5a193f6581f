#pragma once

#include <array>

#include "headscope/run/schema.h"

// What detect writes: what heads do on random tokens.
namespace headscope::run_files {

inline constexpr std::array kDetectorColumns = std::to_array<ColumnSchema>({
    {"head", ColumnType::kText, "Name"},
    {"layer", ColumnType::kInteger, "Layer, from 0"},
    {"index", ColumnType::kInteger, "Index within the layer, from 0"},
    {"previous", ColumnType::kDouble, "Mean attention on the token before"},
    {"identity", ColumnType::kDouble, "On the token itself"},
    {"duplicate", ColumnType::kDouble, "On the earlier occurrence of the same token"},
    {"induction", ColumnType::kDouble, "On the token that followed it"},
    {"next", ColumnType::kDouble, "On the token after; of encoders and cross-attention", false, "", 2},
    {"first", ColumnType::kDouble, "On the first token; of encoders and cross-attention", false, "", 2},
    {"threshold", ColumnType::kDouble, "Score from which a head counts as detected"},
    {"detected", ColumnType::kText, "Detectors whose threshold the head reaches at all lengths, separated by spaces"},
    {"at_one_length", ColumnType::kText, "Detectors whose threshold it reaches at only one of the lengths", false, "",
     2},
    {"previous_sd", ColumnType::kDouble, "Standard deviation of previous over sequences", false, "", 2},
    {"identity_sd", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_sd", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_sd", ColumnType::kDouble, "The same of induction", false, "", 2},
    {"next_sd", ColumnType::kDouble, "The same of next", false, "", 2},
    {"first_sd", ColumnType::kDouble, "The same of first", false, "", 2},
    {"previous_second", ColumnType::kDouble, "Score at the second length", false, "", 2},
    {"identity_second", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_second", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_second", ColumnType::kDouble, "The same of induction", false, "", 2},
    {"next_second", ColumnType::kDouble, "The same of next", false, "", 2},
    {"first_second", ColumnType::kDouble, "The same of first", false, "", 2},
    {"previous_second_sd", ColumnType::kDouble, "Standard deviation over sequences at the second length", false, "", 2},
    {"identity_second_sd", ColumnType::kDouble, "The same of identity", false, "", 2},
    {"duplicate_second_sd", ColumnType::kDouble, "The same of duplicate", false, "", 2},
    {"induction_second_sd", ColumnType::kDouble, "The same of induction", false, "", 2},
    {"next_second_sd", ColumnType::kDouble, "The same of next", false, "", 2},
    {"first_second_sd", ColumnType::kDouble, "The same of first", false, "", 2},
    {"block", ColumnType::kText, "encoder, decoder or cross, if the model has such blocks", false, "", 2},
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
    {"block", ColumnType::kText, "encoder, decoder or cross, if the model has such blocks", false, "", 2},
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

}  // namespace headscope::run_files
