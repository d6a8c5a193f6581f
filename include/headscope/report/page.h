#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headscope {

struct PageOptions {
  std::string title = {};    ///< Empty: the folder's name.
  std::string program = {};  ///< What made the page, e.g. "headscope 1.0.0".
  /// Bytes that affinity matrices, and as many again that attention maps may take before they are compressed.
  /// Affinities are kept in 16 bits if all fit, else in 8, and left out from the last on if even those do not; maps are
  /// kept in 8 bits, averaged over blocks of 2, 4, 8, ... tokens until they fit. The page says what was done.
  std::size_t bytes = std::size_t{8} << 20;
  /// Called now and then with the share of the work that is done; may throw to stop.
  std::function<void(double)> progress = {};
};

/// A page and what it shows.
struct Page {
  std::string html;
  std::vector<std::string> sections;  ///< What there was to show: "relate", "capture", "detect", ...
  std::vector<std::string> notes;     ///< What was averaged or left out, one sentence each.
};

/// One self-contained HTML page of whatever a RUN folder holds: the template of web/, compiled in, and the data of the
/// folder behind it. The page loads nothing from anywhere.
///
/// Nothing of the data is ever HTML: all of it is one JSON text and a list of arrays, each compressed (zlib) and
/// written in base64. Only files that the manifest lists are opened, and of those only ones with names that the
/// commands of headscope give; tables of other names are taken along as they are. Memory: one map at a time beyond the
/// page.
///
/// \throws Error  kIo if a file cannot be read (there is no manifest.json: not a RUN); kFormat if a file contradicts
///                itself or the others (shapes, heads, orders that are no permutation); kUnsupported if there is
///                nothing to show, or a file is larger than a page could be.
[[nodiscard]] Page build_page(const std::filesystem::path& run, const PageOptions& options = {});

}  // namespace headscope
