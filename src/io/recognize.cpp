#include "headscope/io/recognize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>

#include "headscope/base/error.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxPath = 1000;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string shown(const fs::path& path) {
  return printable(path.string(), kMaxPath);
}

// The first bytes of a file; fewer if it is shorter or cannot be read. A pipe is not read: that could wait forever.
std::string beginning(const fs::path& file) {
  constexpr std::size_t kBytes = 512;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return {};
  std::string bytes(kBytes, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(kBytes));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return bytes;
}

constexpr std::string_view kUnpack = "; unpack it and pass the folder";
constexpr std::string_view kExported = ", which is made from a checkpoint; pass that checkpoint";
constexpr std::string_view kConvert =
    "; convert it with transformers 4: AutoModel.from_pretrained(FOLDER, {}=True).save_pretrained(NEW_FOLDER), "
    "and pass NEW_FOLDER";

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
  std::string_view remedy;
};

using namespace std::string_view_literals;

const std::array kSignatures = {
    Signature{0, "%PDF"sv, "a PDF document", ", not a model"},
    Signature{0, "PK\x03\x04"sv, "a zip archive", kUnpack},
    Signature{257, "ustar"sv, "a tar archive", kUnpack},
    Signature{0, "\x1F\x8B"sv, "compressed (gzip)", kUnpack},
    Signature{0, "\x28\xB5\x2F\xFD"sv, "compressed (zstd)", kUnpack},
    Signature{0,
              "\xFD"
              "7zXZ"sv,
              "compressed (xz)", kUnpack},
    Signature{0, "BZh"sv, "compressed (bzip2)", kUnpack},
    Signature{0, "7z\xBC\xAF"sv, "a 7z archive", kUnpack},
    Signature{0, "\x89HDF"sv, "an HDF5 file, as Keras and TensorFlow write it", "; pass a folder with safetensors"},
    Signature{4, "TFL3"sv, "a TensorFlow Lite file", kExported},
    Signature{0, "PAR1"sv, "a dataset (Parquet)", ", not a model"},
    Signature{0, "ARROW1"sv, "a dataset (Arrow)", ", not a model"},
    Signature{0, "\x89PNG"sv, "an image, not a model",
              "; give it to a vision model: headscope capture MODEL --image FILE -o RUN"},
    Signature{0, "\xFF\xD8\xFF"sv, "an image, not a model",
              "; give it to a vision model: headscope capture MODEL --image FILE -o RUN"},
    Signature{0, "\x93NUMPY"sv, "an array, not a model",
              "; token ids go to --ids, pixels to --pixels, attention maps to headscope organize"},
    Signature{0, "<!doctype html><!-- headscope report"sv, "a page that headscope report wrote",
              "; open it in a browser"},
    Signature{0, "lmgg"sv, "a GGML file, older than GGUF", "; convert it with llama.cpp"},
    Signature{0, "tjgg"sv, "a GGML file, older than GGUF", "; convert it with llama.cpp"},
    Signature{0,
              "\x7F"
              "ELF"sv,
              "a program, not a model", ""},
};

struct Extension {
  std::string_view extension;
  std::string_view what;
  std::string_view remedy;
};

constexpr std::array kExtensions = {
    Extension{".onnx", "an ONNX file", kExported},
    Extension{".pb", "a TensorFlow file", kExported},
    Extension{".tflite", "a TensorFlow Lite file", kExported},
    Extension{".mlmodel", "a CoreML model", kExported},
    Extension{".msgpack", "a Flax file", "; pass its folder for how to convert it"},
    Extension{".keras", "a Keras file", kExported},
    Extension{".py", "a Python script, not a model", "; pass the folder that save_pretrained writes"},
    Extension{".ipynb", "a notebook, not a model", "; pass the folder that save_pretrained writes"},
    Extension{".json", "a JSON file", "; pass the folder it lies in"},
    Extension{".csv", "a table, not a model", ""},
    Extension{".tsv", "a table, not a model", ""},
    Extension{".jsonl", "a dataset, not a model", "; texts go to --text-file"},
    Extension{".yaml", "a configuration, not a model", "; pass the folder with config.json and safetensors"},
    Extension{".yml", "a configuration, not a model", "; pass the folder with config.json and safetensors"},
    Extension{".txt", "a text, not a model", "; give it to a model: headscope capture MODEL --text-file FILE -o RUN"},
    Extension{".md", "a text, not a model", "; give it to a model: headscope capture MODEL --text-file FILE -o RUN"},
};

// The names in a folder.
class Names {
 public:
  explicit Names(const fs::path& folder) : folder_(folder) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      std::error_code ignored;
      (it->is_directory(ignored) ? folders_ : files_).insert(it->path().filename().string());
    }
  }
  [[nodiscard]] bool empty() const { return files_.empty() && folders_.empty(); }
  [[nodiscard]] bool has(const std::string& name) const { return files_.contains(name) || folders_.contains(name); }
  // The first file or folder that a test accepts, empty if there is none.
  [[nodiscard]] std::string first(const std::function<bool(const std::string&)>& accepts) const {
    for (const auto* names : {&files_, &folders_}) {
      const auto found = std::ranges::find_if(*names, accepts);
      if (found != names->end()) return *found;
    }
    return {};
  }
  [[nodiscard]] std::string ending(std::string_view end) const {
    return first([&](const std::string& name) { return lower(name).ends_with(end); });
  }
  [[nodiscard]] std::string starting(std::string_view begin) const {
    return first([&](const std::string& name) { return name.starts_with(begin); });
  }
  // Subfolders that look like models.
  [[nodiscard]] std::vector<std::string> models() const {
    std::vector<std::string> found;
    for (const std::string& name : folders_) {
      std::error_code ignored;
      if (fs::exists(folder_ / name / "config.json", ignored)) found.push_back(name);
    }
    return found;
  }

 private:
  fs::path folder_;
  std::set<std::string> files_;
  std::set<std::string> folders_;
};

std::string in(const fs::path& folder, const std::string& name) {
  return shown(folder / name);
}

// What another program wrote for a training to go on from.
std::string recognize_training(const fs::path& folder, const Names& names) {
  const std::string step = names.starting("global_step");
  if (!step.empty() || !names.starting("mp_rank_").empty() || names.has("zero_to_fp32.py")) {
    return fmt::format(
        "is a training checkpoint of DeepSpeed{}; write its weights as safetensors: python {} {} NEW_FOLDER "
        "--safe_serialization, and pass NEW_FOLDER with the config.json of the model",
        step.empty() ? "" : fmt::format(" ({})", printable(step)), in(folder, "zero_to_fp32.py"), shown(folder));
  }
  if (const std::string part = names.ending(".distcp"); !part.empty()) {
    return fmt::format(
        "is a distributed training checkpoint of PyTorch ({}); write its weights as safetensors: accelerate "
        "merge-weights {} NEW_FOLDER, and pass NEW_FOLDER with the config.json of the model",
        printable(part), shown(folder));
  }
  if (const std::string one = names.starting("checkpoint-"); !one.empty()) {
    return fmt::format("holds checkpoints of a training; pass one of them, e.g. {}", in(folder, one));
  }
  const std::string state = names.first([](const std::string& name) { return is_training_state(name); });
  if (!state.empty()) {
    return fmt::format(
        "holds the state of an optimizer ({}) but no weights; pass the folder with the weights, which "
        "save_pretrained writes",
        printable(state));
  }
  return {};
}

// Weights in a form that is not read.
std::string recognize_export(const Names& names) {
  if (!names.ending(".msgpack").empty()) return "is a Flax model" + fmt::format(fmt::runtime(kConvert), "from_flax");
  if (names.has("tf_model.h5")) return "is a TensorFlow model" + fmt::format(fmt::runtime(kConvert), "from_tf");
  if (names.has("saved_model.pb")) return "is a SavedModel of TensorFlow" + std::string(kExported);
  if (!names.ending(".mlpackage").empty() || !names.ending(".mlmodel").empty() || names.has("Manifest.json"))
    return "is a CoreML model" + std::string(kExported);
  if (!names.ending(".onnx").empty()) return "is an ONNX model" + std::string(kExported);
  if (names.has("weights.npz")) {
    return "is an MLX model in an npz file; pass the checkpoint that it was made from, or convert it with "
           "mlx_lm.convert, which "
           "writes safetensors";
  }
  return {};
}

std::string recognize_data(const fs::path& folder, const Names& names) {
  const bool described =
      names.has("dataset_info.json") || names.has("dataset_dict.json") || names.has("dataset_infos.json");
  if (described || !names.ending(".parquet").empty() || !names.ending(".arrow").empty()) {
    return "is a dataset, not a model; texts go to --text-file, images to --image";
  }
  for (const char* image : {".png", ".jpg", ".jpeg"}) {
    if (names.ending(image).empty()) continue;
    return fmt::format(
        "holds images, not a model; give them to a vision model: headscope capture MODEL --image {} -o RUN",
        shown(folder));
  }
  return {};
}

}  // namespace

bool is_training_state(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  constexpr std::array<std::string_view, 6> kBeginnings = {"optimizer",     "scheduler",     "rng_state",
                                                           "random_states", "training_args", "scaler"};
  constexpr std::array<std::string_view, 5> kEnds = {".pt", ".pth", ".bin", ".pkl", ".safetensors"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view begin) { return name.starts_with(begin); }) &&
         std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

std::string recognize_file(const fs::path& file) {
  if (is_training_state(file)) {
    return "is the state of a training (optimizer, scheduler or random numbers), not weights; pass the folder with the "
           "weights, which save_pretrained writes";
  }
  const std::string bytes = beginning(file);
  if (bytes.empty()) return "is empty";
  const std::string extension = lower(file.extension().string());
  if (bytes.starts_with("PK\x03\x04") && extension == ".npz") return "is an archive of arrays, not a model";
  for (const Extension& one : kExtensions) {
    if (extension == one.extension) return fmt::format("is {}{}", one.what, one.remedy);
  }
  for (const Signature& one : kSignatures) {
    if (bytes.size() > one.offset && std::string_view(bytes).substr(one.offset).starts_with(one.bytes)) {
      return fmt::format("is {}{}", one.what, one.remedy);
    }
  }
  return {};
}

std::string recognize_model(const fs::path& path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  const bool has_config = folder && fs::exists(path / "config.json", ignored);
  if (!has_config && (folder || lower(path.extension().string()) != ".gguf")) return {};
  return "is a model, not a folder of results; 'headscope capture' and 'headscope relate' make one of it";
}

std::string recognize_folder(const fs::path& folder) {
  const Names names(folder);
  if (names.empty()) return "is an empty folder";
  if (names.has("manifest.json") && !names.has("config.json")) {
    const std::string text = beginning(folder / "manifest.json");
    if (text.find("\"schema\"") != std::string::npos || text.find("\"commands\"") != std::string::npos) {
      return fmt::format("is a folder of results (a RUN), not a model; show it: headscope report {} -o page.html",
                         shown(folder));
    }
  }
  const std::vector<std::string> models = names.models();
  if (names.has("model_index.json")) {
    const auto encoder = std::ranges::find(models, "text_encoder");
    const std::string next =
        encoder != models.end()
            ? fmt::format("; its text encoder is a model: headscope inspect {}", in(folder, "text_encoder"))
            : "; its parts lie in folders of their own";
    return "is a diffusion model (model_index.json), a pipeline of several models" + next;
  }
  for (const std::string& found : {recognize_training(folder, names), recognize_export(names)}) {
    if (!found.empty()) return found;
  }
  if (!models.empty()) {
    return fmt::format("holds no weights itself; the model may be in {}", in(folder, models.front()));
  }
  if (std::string data = recognize_data(folder, names); !data.empty()) return data;
  const bool tokenizer = names.has("tokenizer.json") || names.has("tokenizer.model") ||
                         names.has("tokenizer_config.json") || names.has("vocab.json") || names.has("vocab.txt");
  if (tokenizer) {
    return "holds a tokenizer but no weights; download the whole model: hf download NAME, or save it with "
           "model.save_pretrained too";
  }
  if (!names.ending(".py").empty() && !names.has("config.json")) {
    return "holds Python scripts, not a model; pass the folder that save_pretrained writes";
  }
  return {};
}

}  // namespace headscope
