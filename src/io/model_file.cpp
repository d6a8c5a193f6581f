#include "headscope/io/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/io/path_exists.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// Whether a file is in a folder or one of its subfolders; both paths without links.
bool is_beneath(const fs::path& file, const fs::path& folder) {
  return std::ranges::mismatch(folder, file).in1 == folder.end();
}

// Whether a file, whose path has no links, is .../models--OWNER--NAME/blobs/HASH.
bool is_blob(const fs::path& file) {
  const fs::path folder = file.parent_path();
  return folder.filename() == "blobs" && folder.parent_path().filename().string().starts_with("models--");
}

}  // namespace

void check_model_file(const fs::path& file) {
  std::error_code error;
  if (!fs::is_symlink(file, error)) return;
  const fs::path target = fs::canonical(file, error);
  if (error) return;  // a dangling link is reported as a missing file
  const fs::path folder = fs::canonical(file.has_parent_path() ? file.parent_path() : ".", error);
  if (!error && (is_beneath(target, folder) || is_blob(target))) return;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: is a link that leads out of the folder of the model, to {}; copy the file "
                          "there if you trust it",
                          printable(file.string(), 1000), printable(target.string(), 1000)));
}

bool model_file_exists(const fs::path& file) {
  check_model_file(file);
  return path_exists(file);
}

}  // namespace headscope
