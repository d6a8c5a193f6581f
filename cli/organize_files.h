#pragma once

#include <ostream>

#include "cli/map_source.h"
#include "headscope/io/run_folder.h"
#include "headscope/organize/questionnaire.h"
#include "headscope/organize/sparsity.h"
#include "headscope/organize/tensor_share.h"
#include "headscope/tree/diffusion_map.h"

namespace headscope::cli {

/// What `organize` found.
struct OrganizeResult {
  Organization organization;
  Sparsity sparsity;
  std::vector<DiffusionMap> embeddings;  ///< Head, query, key.
};

/// trees/, affinity/, embedding/ and order/ for head, query and key; sparsity.csv, decay.csv, convergence.csv.
void add_organize_files(RunFolder& run, const MapSource& source, const OrganizeResult& result);
/// haar/network.npy: the coefficients of the tensor that all ranks share. All call it; rank 0 writes them to its run as
/// they come, the others have no run.
void add_haar_file(RunFolder* run, const TensorShare& tensor, const Organization& organization);

/// What a person wants to know first.
void print_organize_summary(std::ostream& out, const MapSource& source, const OrganizeResult& result);
/// The same as JSON.
void print_organize_json(std::ostream& out, const MapSource& source, const OrganizeResult& result,
                         const std::vector<std::string>& files, double seconds);

}  // namespace headscope::cli
