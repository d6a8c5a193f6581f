#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "headscope/base/context.h"
#include "headscope/model/head_id.h"

namespace headscope {

struct PageOptions {
  std::string title = {};    ///< Empty: the folder's name.
  std::string program = {};  ///< The program that made the page, e.g. "headscope 1.0.0".
  /// Maximum size in bytes, before compression, of the affinity matrices and, separately, of the attention maps.
  /// Affinities are stored in 16 bits if they all fit, otherwise in 8, and the last ones are dropped if even those do
  /// not fit. Maps are stored in 8 bits, averaged over blocks of 2, 4, 8, ... tokens until they fit: neighbors in a
  /// text or in a row of patches, never special tokens such as [class]. If they do not fit even so, the last inputs are
  /// dropped. The page states what was done.
  std::size_t bytes = std::size_t{8} << 20;
  /// Show images behind their patches. They get at most a quarter of `bytes` on top of it; larger ones are reduced.
  bool thumbnails = true;
  /// If maps are averaged, these heads also keep theirs as they are, and after them significant hubs, ends of the
  /// circuit and detected heads: as many as fit in a quarter of the room for maps.
  std::vector<HeadId> keep = {};
  /// Notes that come before those on what was averaged or left out.
  std::vector<std::string> notes = {};
};

/// A page and what it contains.
struct Page {
  std::string html;
  std::vector<std::string> sections;  ///< Sections with content: "relate", "capture", "detect", ...
  std::vector<std::string> notes;     ///< Those of the options, and what was averaged or left out, one sentence each.
};

/// Builds one self-contained HTML page from the contents of a RUN folder: the template from web/, which is compiled in,
/// with the data inserted. The page makes no network requests.
///
/// Data is never emitted as HTML: it is one JSON text and a list of arrays, each zlib-compressed and base64-encoded.
/// Only files listed in the manifest are opened, and of those only files with names that headscope's commands use;
/// tables with other names are included as they are. Everything counts against the memory budget; what a page takes is
/// estimated from the sizes of the files.
///
/// \throws Error  kIo if a file cannot be read (without manifest.json the folder is not a RUN); kFormat if a file is
///                inconsistent with itself or with the others (shapes, heads, orders that are not permutations);
///                kUnsupported if there is nothing to show, or if a file is too large for a page; kResource if the
///                budget is too small.
[[nodiscard]] Page build_page(const std::filesystem::path& run, const PageOptions& options = {},
                              const Context& context = {});

}  // namespace headscope
