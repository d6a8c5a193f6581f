#include "headscope/io/hub_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "headscope/base/error.h"
#include "headscope/io/path_exists.h"
#include "io/unfinished_download.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolderPrefix = "models--";
constexpr std::string_view kExpected =
    "expected a folder with config.json and *.safetensors, a .gguf file, or the name of a model in the Hugging Face "
    "cache, e.g. openai-community/gpt2";

bool is_ascii_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

fs::path expand_home(const std::string& text) {
  const auto home = variable("HOME");
  if (!home || (text != "~" && !text.starts_with("~/"))) return text;
  return text == "~" ? fs::path(*home) : fs::path(*home) / text.substr(2);
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The Hub's rule for names: 1 to 96 of these characters, starting and ending with a letter, a digit or an underscore,
// without ".." and without "--", which the cache writes for "/".
bool is_name_part(std::string_view part) {
  constexpr std::size_t kMaxLength = 96;
  const auto plain = [](char c) { return is_ascii_alphanumeric(c) || c == '_'; };
  return !part.empty() && part.size() <= kMaxLength && plain(part.front()) && plain(part.back()) &&
         part.find("--") == std::string_view::npos && part.find("..") == std::string_view::npos &&
         std::ranges::all_of(part, [&](char c) { return plain(c) || c == '-' || c == '.'; });
}

bool is_repository_name(std::string_view name) {
  const std::vector<std::string_view> parts = split(name);
  return parts.size() <= 2 && std::ranges::all_of(parts, is_name_part);
}

// Returns whether a missing path looks like a file rather than the name of a model on the Hub.
bool looks_like_file(const fs::path& path) {
  constexpr std::array<std::string_view, 8> kExtensions = {".gguf", ".safetensors", ".json", ".bin",
                                                           ".pt",   ".pth",         ".ckpt", ".npy"};
  return std::ranges::find(kExtensions, path.extension().string()) != kExtensions.end();
}

bool is_commit(std::string_view text) {
  constexpr std::size_t kMaxLength = 64;  // SHA-256; SHA-1 has 40
  return !text.empty() && text.size() <= kMaxLength &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Returns whether the text may follow refs/ in a path. git forbids everything else too.
bool is_revision(std::string_view text) {
  constexpr std::size_t kMaxLength = 250;
  if (text.size() > kMaxLength || text.starts_with('-')) return false;
  return std::ranges::all_of(split(text), [](std::string_view part) {
    return !part.empty() && part != "." && part.find("..") == std::string_view::npos &&
           std::ranges::none_of(part, [](char c) {
             const auto byte = static_cast<unsigned char>(c);
             return byte <= ' ' || byte == 0x7F || c == '\\';
           });
  });
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Names of the subfolders of a folder, sorted; empty if it cannot be read.
std::vector<std::string> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (is_folder(it->path())) names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

// "models--openai-community--gpt2" -> "openai-community/gpt2"; empty for other names.
std::string repository_of(std::string_view folder) {
  if (!folder.starts_with(kFolderPrefix)) return {};
  std::string name(folder.substr(kFolderPrefix.size()));
  if (const auto dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
  return is_repository_name(name) ? name : std::string();
}

std::string folder_of(std::string_view repository) {
  std::string name(repository);
  if (const auto slash = name.find('/'); slash != std::string::npos) name.replace(slash, 1, "--");
  return std::string(kFolderPrefix) + name;
}

std::vector<std::string> repositories_in(const fs::path& cache) {
  std::vector<std::string> found;
  for (const std::string& folder : folders_in(cache)) {
    if (std::string name = repository_of(folder); !name.empty()) found.push_back(std::move(name));
  }
  return found;
}

std::string a_few(const std::vector<std::string>& names) {
  constexpr std::size_t kFew = 5;
  const std::span<const std::string> shown(names.data(), std::min(kFew, names.size()));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kFew) text += fmt::format(" and {} more", names.size() - kFew);
  return text;
}

[[noreturn]] void reject_revision_of_path(const fs::path& path, std::string_view revision, std::string_view what) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("--revision {}: {} is {}", printable(revision), path.string(), what));
}

void check_revision(std::string_view revision) {
  if (revision.empty() || is_revision(revision)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("--revision '{}': is not the name of a branch, tag or commit, e.g. main", printable(revision)));
}

// Returns the location of an existing path, with its repository if it is a snapshot or inside one.
ModelLocation location_of_existing(const fs::path& path) {
  ModelLocation location{.path = path};
  std::error_code error;
  // A file in a snapshot is a link to a blob: resolve only its folder.
  const bool folder = is_folder(path);
  const fs::path whole = fs::canonical(folder ? path : fs::absolute(path, error).parent_path(), error);
  if (error) return location;
  for (fs::path at = whole; at.has_relative_path(); at = at.parent_path()) {
    const fs::path snapshots = at.parent_path();
    const std::string repository = repository_of(snapshots.parent_path().filename().string());
    if (snapshots.filename() != "snapshots" || repository.empty() || !is_commit(at.filename().string())) continue;
    location.repository = repository;
    location.commit = location.revision = at.filename().string();
    location.cache = snapshots.parent_path().parent_path();
    break;
  }
  return location;
}

// Returns the commit in a ref; nothing if there is no such ref.
std::optional<std::string> read_ref(const fs::path& file, const ModelLocation& location) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  constexpr std::size_t kMaxLength = 100;
  std::string text(kMaxLength, '\0');
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(ErrorKind::kIo, fmt::format("{}: cannot open", file.string()));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  if (!is_commit(text)) {
    throw Error(ErrorKind::kFormat,
                fmt::format("{}: does not hold the name of a commit (hexadecimal digits); download the model again: {}",
                            file.string(), download_command(location)));
  }
  return text;
}

// Finds the snapshot of the repository named in `location`.
ModelLocation find_snapshot(ModelLocation location) {
  const fs::path folder = location.cache / folder_of(location.repository);
  const std::string revision = location.revision.empty() ? "main" : location.revision;
  const auto refuse = [&](const std::string& what) {
    const std::string partial = partial_file_in(folder / "blobs");
    throw Error(ErrorKind::kIo,
                fmt::format("{}: {}{}; download it with: {}", location.repository, what,
                            partial.empty() ? "" : fmt::format("; its download is unfinished (blobs/{})", partial),
                            download_command(location)));
  };
  if (!is_folder(folder)) refuse(fmt::format("{} is not a folder", folder.string()));
  const fs::path snapshots = folder / "snapshots";
  const auto ref = read_ref(folder / "refs" / revision, location);
  if (!ref && !(is_commit(revision) && is_folder(snapshots / revision))) {
    const std::vector<std::string> commits = folders_in(snapshots);
    refuse(fmt::format("{} has no revision '{}'{}", folder.string(), printable(revision),
                       commits.empty() ? "" : ", only " + printable(a_few(commits), 500)));
  }
  location.commit = ref.value_or(revision);
  location.path = snapshots / location.commit;
  if (!is_folder(location.path)) refuse(fmt::format("{} is missing or not a folder", location.path.string()));
  return location;
}

bool is_repository_folder(const fs::path& path) {
  return std::ranges::any_of(std::array{"snapshots", "refs", "blobs"},
                             [&](const char* name) { return is_folder(path / name); });
}

bool holds_model_files(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name == "config.json" || name.extension() == ".safetensors" || name.extension() == ".gguf") return true;
  }
  return false;
}

ModelLocation find_existing(const fs::path& path, std::string_view revision) {
  ModelLocation plain = location_of_existing(path);
  if (is_folder(path) && !plain.is_cached() && !holds_model_files(path)) {
    std::error_code error;
    const fs::path whole = fs::canonical(path, error);
    const std::string repository = repository_of(whole.filename().string());
    if (!repository.empty() && is_repository_folder(whole)) {
      return find_snapshot({.path = {},
                            .repository = repository,
                            .revision = std::string(revision),
                            .commit = {},
                            .cache = whole.parent_path()});
    }
    if (const std::vector<std::string> models = repositories_in(path); !models.empty()) {
      throw Error(ErrorKind::kUnsupported, fmt::format("{}: is a whole Hugging Face cache; name one of its models: {}",
                                                       path.string(), a_few(models)));
    }
  }
  if (!revision.empty() && plain.is_cached()) {
    reject_revision_of_path(path, revision,
                            fmt::format("one revision already; pass the model's name instead: {}", plain.repository));
  }
  if (!revision.empty()) {
    reject_revision_of_path(path, revision,
                            fmt::format("a {}, and only models of the Hugging Face cache have revisions",
                                        is_folder(path) ? "folder" : "file"));
  }
  return plain;
}

// Returns the full name of a model in the cache; nothing if it is not there.
std::optional<std::string> find_repository(const std::string& name, const fs::path& cache) {
  if (cache.empty()) return std::nullopt;
  if (path_exists(cache / folder_of(name))) return name;
  if (name.find('/') != std::string::npos) return std::nullopt;
  std::vector<std::string> found;
  for (std::string& repository : repositories_in(cache)) {
    if (repository.ends_with("/" + name)) found.push_back(std::move(repository));
  }
  if (found.size() > 1) {
    throw Error(ErrorKind::kUnsupported, fmt::format("{}: several models of the Hugging Face cache ({}) have this "
                                                     "name; pass one of {}",
                                                     name, cache.string(), a_few(found)));
  }
  return found.empty() ? std::nullopt : std::optional(found.front());
}

// Quotes `word` for a shell if needed.
std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return is_ascii_alphanumeric(c) || std::string_view("._-/+=:,@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

fs::path hub_cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"}) {
    if (const auto value = variable(name)) return expand_home(*value);
  }
  if (const auto value = variable("HF_HOME")) return expand_home(*value) / "hub";
  if (const auto value = variable("XDG_CACHE_HOME")) return expand_home(*value) / "huggingface" / "hub";
  if (const auto value = variable("HOME")) return fs::path(*value) / ".cache" / "huggingface" / "hub";
  return {};
}

ModelLocation find_model(const fs::path& model, std::string_view revision, const fs::path& cache) {
  check_revision(revision);
  const std::string name = model.string();
  // A NUL byte would end the path for the operating system, but not for us.
  if (name.find('\0') == std::string::npos && path_exists(model)) return find_existing(model, revision);
  if (const auto scheme = name.find("://"); scheme != std::string::npos) {
    throw Error(ErrorKind::kIo,
                fmt::format("{}: is an address, and headscope never uses the network; download the model "
                            "(hf download OWNER/NAME) and pass its name or folder",
                            printable(name)));
  }
  if (!is_repository_name(name)) {
    throw Error(ErrorKind::kIo,
                fmt::format("{}: no such file or folder; {}", name.empty() ? "''" : printable(name), kExpected));
  }
  const auto repository = find_repository(name, cache);
  if (repository) {
    return find_snapshot(
        {.path = {}, .repository = *repository, .revision = std::string(revision), .commit = {}, .cache = cache});
  }
  if (looks_like_file(model)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: no such file or folder; {}", name, kExpected));
  }
  const ModelLocation wanted{
      .path = {}, .repository = name, .revision = std::string(revision), .commit = {}, .cache = cache};
  throw Error(
      ErrorKind::kIo,
      fmt::format("{}: no such file or folder, and {}; download it with: {}", name,
                  cache.empty() ? "there is no Hugging Face cache to look in, since HOME is not set"
                                : fmt::format("the Hugging Face cache ({}) has no model of this name", cache.string()),
                  download_command(wanted)));
}

std::string download_command(const ModelLocation& location, std::string_view file) {
  std::string command = "hf download " + shell_word(location.repository);
  if (!file.empty()) command += (file.find('*') == std::string_view::npos ? " " : " --include ") + shell_word(file);
  if (!location.revision.empty()) command += " --revision " + shell_word(location.revision);
  if (!location.cache.empty()) {
    std::error_code ignored;
    const fs::path usual = hub_cache_folder();
    if (location.cache != usual && !fs::equivalent(location.cache, usual, ignored)) {
      command += " --cache-dir " + shell_word(location.cache.string());
    }
  }
  return command;
}

std::string download_hint(const ModelLocation& location, std::string_view file) {
  return location.is_cached() ? fmt::format("download it with: {}, or ", download_command(location, file)) : "";
}

}  // namespace headscope
