#include "io/folder_rejections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include "headscope/base/error.h"
#include "headscope/io/json.h"
#include "headscope/io/recognize.h"
#include "io/unfinished_download.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

// Returns "; its download is unfinished (...)" and how to continue; empty if there is no trace of a download.
std::string unfinished_download(const ModelLocation& location) {
  if (location.is_cached()) {
    // A snapshot lies in REPOSITORY/snapshots, beside REPOSITORY/blobs.
    const std::string partial = partial_file_in(location.path / ".." / ".." / "blobs");
    return partial.empty() ? "" : fmt::format("; its download is unfinished (blobs/{})", printable(partial));
  }
  constexpr std::string_view kDownloads = ".cache/huggingface/download";
  if (const std::string partial = partial_file_in(location.path / kDownloads); !partial.empty()) {
    return fmt::format(
        "; its download is unfinished ({}/{}); resume it with: hf download NAME --local-dir {}, where NAME "
        "is the model's name on the Hub",
        kDownloads, printable(partial), location.path.string());
  }
  const std::string partial = partial_file_in(location.path);
  return partial.empty() ? "" : fmt::format("; its download is unfinished ({}); finish it first", printable(partial));
}

}  // namespace

bool is_pickle_name(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kExtensions = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"};
  return std::ranges::find(kExtensions, path.extension().string()) != kExtensions.end();
}

void reject_pickle(const fs::path& path) {
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: pickle files are never opened, since loading one runs whatever code it contains; "
                          "convert it on a machine where you trust it: model = AutoModel.from_pretrained(FOLDER); "
                          "model.save_pretrained(NEW_FOLDER, safe_serialization=True)",
                          path.string()));
}

void reject_missing(const ModelLocation& location, const std::string& what, const std::string& file) {
  std::error_code ignored;
  const bool dangling = fs::is_symlink(location.path / file, ignored);
  std::string text = fmt::format("{}: {}", location.path.string(),
                                 dangling ? fmt::format("{} is a dangling link", printable(file, 100)) : what);
  const std::string unfinished = unfinished_download(location);
  text += unfinished;
  if (location.is_cached()) {
    text += fmt::format("; download it with: {}", download_command(location, file));
  } else if (unfinished.empty()) {
    text += "; expected a folder as Hugging Face's save_pretrained writes it, or a .gguf file";
  }
  throw Error(ErrorKind::kIo, text);
}

void reject_adapter(const fs::path& folder, std::span<const fs::path> files) {
  const auto named = [&](std::string_view name) {
    return std::ranges::any_of(files, [&](const fs::path& file) { return file.filename() == name; });
  };
  const bool whole = std::ranges::any_of(files, [](const fs::path& file) {
    const std::string name = file.filename().string();
    return (file.extension() == ".safetensors" && !name.starts_with("adapter_")) || file.extension() == ".gguf" ||
           name.ends_with(".safetensors.index.json");
  });
  if (whole || !named("adapter_config.json")) return;
  const JsonDocument config = JsonDocument::open(folder / "adapter_config.json");
  const auto text = [&](std::string_view key) {
    return printable(config.root().find(key).as_string().value_or("unknown"));
  };
  const std::string base = text("base_model_name_or_path");
  throw Error(ErrorKind::kUnsupported,
              fmt::format("{}: is an adapter ({}) of '{}', not a whole model; merge the two: "
                          "AutoPeftModelForCausalLM.from_pretrained(FOLDER).merge_and_unload().save_pretrained("
                          "NEW_FOLDER), and pass NEW_FOLDER",
                          folder.string(), text("peft_type"), base));
}

void reject_unfinished(const fs::path& file) {
  fs::path control = file;
  control += ".aria2";
  std::error_code ignored;
  if (!fs::exists(control, ignored)) return;
  throw Error(ErrorKind::kIo, fmt::format("{}: its download is unfinished ({}); finish it first", file.string(),
                                          printable(control.filename().string())));
}

void reject_without_weights(const ModelLocation& location, std::span<const fs::path> files) {
  const auto pickle = std::ranges::find_if(
      files, [](const fs::path& file) { return is_pickle_name(file) && !is_training_state(file); });
  if (pickle != files.end()) reject_pickle(*pickle);
  // What is missing from a snapshot of the cache can be downloaded; what it holds besides says little.
  if (const std::string known = location.is_cached() ? "" : recognize_folder(location.path); !known.empty()) {
    if (unfinished_download(location).empty()) {
      throw Error(ErrorKind::kUnsupported, fmt::format("{}: {}", printable(location.path.string(), 1000), known));
    }
  }
  reject_missing(location, "holds no safetensors file", "*.safetensors*");
}

}  // namespace headscope
