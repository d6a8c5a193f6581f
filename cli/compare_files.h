#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "headscope/apply/compare.h"
#include "headscope/io/run_folder.h"

namespace headscope::cli {

/// A run and what it was made of, for people.
struct ComparedSource {
  ComparedRun run;
  std::string path;
  std::string kind;  ///< "text", "image", or "weights" where there are no maps.
  std::size_t inputs = 0;
  std::size_t heads = 0;
  std::string tokens;  ///< "64", or "12 to 64".
};

/// Adds comparison.csv, features.csv, distances.npy and compare.json.
void add_compare_files(RunFolder& run, const std::vector<ComparedSource>& sources, const Comparison& comparison);

void print_compare_summary(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison);
void print_compare_json(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison,
                        const std::vector<std::string>& files, double seconds);

}  // namespace headscope::cli
