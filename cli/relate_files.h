#pragma once

#include <ostream>
#include <vector>

#include "headscope/io/run_folder.h"
#include "headscope/model/vocabulary.h"
#include "headscope/relate/relate.h"

namespace headscope::cli {

/// heads.csv, affinity/*.npy, edges.csv, graph.{graphml,gexf,dot}, hubs.csv, tree.json, and where there is something to
/// put into them informativeness.csv and labels.csv.
void add_relate_files(RunFolder& run, const RelateOptions& options, const RelateResult& result);

/// tokens.csv.
void add_token_file(RunFolder& run, const std::vector<TokenProfile>& profiles, const Vocabulary& vocabulary);

/// What a person wants to know first: sizes, strongest edges of each pair, hubs, warnings.
void print_relate_summary(std::ostream& out, const Model& model, const RelateOptions& options,
                          const RelateResult& result);

}  // namespace headscope::cli
