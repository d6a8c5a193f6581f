#pragma once

#include <ostream>

#include "cli/map_source.h"
#include "headscope/io/run_folder.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/sparsity.h"
#include "headscope/tree/diffusion_map.h"

namespace headscope::cli {

/// What `organize` found.
struct OrganizeResult {
  Organization organization;
  Sparsity sparsity;
  std::vector<DiffusionMap> embeddings;  ///< Head, query, key.
};

/// trees/, affinity/, embedding/ and order/ for head, query and key; haar/network.npy, sparsity.csv, decay.csv,
/// convergence.csv.
void add_organize_files(RunFolder& run, const MapSource& source, const OrganizeResult& result);

/// What a person wants to know first.
void print_organize_summary(std::ostream& out, const MapSource& source, const OrganizeResult& result);
/// The same as JSON.
void print_organize_json(std::ostream& out, const MapSource& source, const OrganizeResult& result,
                         const std::vector<std::string>& files, double seconds);

}  // namespace headscope::cli
