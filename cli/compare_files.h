#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "headscope/apply/compare.h"
#include "headscope/io/run_folder.h"
#include "headscope/organize/questionnaire.h"

namespace headscope::cli {

/// How one axis of a run is organized, for pictures.
struct ComparedAxis {
  std::string name;  ///< "head", "query", "key"
  AxisOrganization organized;
  std::vector<std::string> elements;  ///< What they are called.
};

/// A run and what it was made of, for people.
struct ComparedSource {
  ComparedRun run;
  std::string path;
  std::string kind;  ///< "text", "image", or "weights" where there are no maps.
  std::size_t inputs = 0;
  std::size_t heads = 0;
  std::string tokens;              ///< "64", or "12 to 64".
  std::vector<ComparedAxis> axes;  ///< Of the first input.
};

/// Adds comparison.csv, features.csv, distances.npy, compare.json, and for every run compared/<run>/<axis>.json and
/// .npy: the trees of its first input and the affinities they were made from.
void add_compare_files(RunFolder& run, const std::vector<ComparedSource>& sources, const Comparison& comparison);

void print_compare_summary(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison);
void print_compare_json(std::ostream& out, const std::vector<ComparedSource>& sources, const Comparison& comparison,
                        const std::vector<std::string>& files, double seconds);

}  // namespace headscope::cli
