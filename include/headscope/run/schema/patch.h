#pragma once

#include <array>

#include "headscope/run/schema.h"

// What patch writes: screened and exact effects of cut edges, and circuits.
namespace headscope::run_files {

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

}  // namespace headscope::run_files
