#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "headscope/apply/prune.h"
#include "headscope/io/run_folder.h"

namespace headscope::cli {

/// Adds ranking.csv and curve.csv.
void add_prune_tables(RunFolder& run, const PruneResult& result, const std::vector<HeadId>& kept);

/// pruned.json: which heads are gone, by which criterion, and what that did. `ranking` is the one that was written;
/// `checkpoint` the folder inside the RUN, empty if there is none.
[[nodiscard]] std::string pruned_json(const PruneResult& result, std::size_t ranking, const std::string& checkpoint,
                                      const std::string& model);

/// One sentence: whether a structural criterion does less damage than every random order.
[[nodiscard]] std::string chance_sentence(const PruneResult& result);

/// prune.json: budget, inputs and measure, every ranking at the budget beside the random orders, and that sentence.
[[nodiscard]] std::string prune_json(const PruneResult& result);

/// What a person wants to know.
void print_prune_summary(std::ostream& out, const PruneResult& result);
void print_prune_json(std::ostream& out, const PruneResult& result, const std::vector<std::string>& files,
                      double seconds);

}  // namespace headscope::cli
