#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "headscope/io/npy.h"
#include "support/png_bytes.h"
#include "support/read.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "support/tiny_llama.h"

namespace headscope::cli {
namespace {

namespace fs = std::filesystem;
using test::expect_failure;
using test::Outcome;
using test::read;
using test::run_program;
using test::TemporaryFolder;
using test::TinyLlama;
using testing::HasSubstr;
using Json = nlohmann::json;

const std::string kForward = std::string(HEADSCOPE_SOURCE_DIR) + "/tests/golden/forward/";

Json read_json(const fs::path& path) {
  return Json::parse(read(path));
}

std::vector<float> floats(const fs::path& path) {
  return npy_values<float>(NpyFile::open(path).array(), path.string());
}

Shape shape_of(const fs::path& path) {
  return NpyFile::open(path).array().shape;
}

// Where a test works: a model, files to run it on, and a folder for the run.
class Desk {
 public:
  Desk() {
    TinyLlama().write(folder_);
    ids("ids.npy", {1, 2, 3, 4, 5, 6, 7}, {7});
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] fs::path run() const { return folder_.path() / "run"; }
  std::string ids(const std::string& name, const std::vector<std::int64_t>& values, const Shape& shape) const {
    write_npy<std::int64_t>(folder_.path() / name, values, shape);
    return path(name);
  }
  std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text).string();
  }
  // A tokenizer of whole words.
  void add_tokenizer() const {
    folder_.write("tokenizer.json", R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
      "model": {"type": "WordLevel", "unk_token": "?",
                "vocab": {"?": 0, "the": 1, "cat": 2, "sat": 3, "on": 4, "mat": 5, "caf\u00e9": 6, ".": 7}}})");
  }
  // The arguments of a capture of this model, and more.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"capture", folder_.path().string(), "-o", run().string(), "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  [[nodiscard]] Outcome capture(const std::vector<std::string>& more) const { return run_program(command(more)); }

 private:
  TemporaryFolder folder_;
};

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) names.insert(fs::relative(entry.path(), folder).string());
  }
  return names;
}

TEST(Capture, WritesTheFilesItPromisesAndSaysWhatTheyAre) {
  const Desk desk;
  const Outcome outcome = desk.capture({"--ids", desk.path("ids.npy")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("llama: 8 heads, 1 input\n"));
  EXPECT_EQ(files_in(desk.run()), (std::set<std::string>{"attention.csv", "manifest.json", "output.npy", "pattern.npy",
                                                         "scores.npy", "tokens.json"}));
  const Json files = read_json(desk.run() / "manifest.json")["files"];
  for (const char* name : {"pattern.npy", "scores.npy"}) {
    EXPECT_EQ(shape_of(desk.run() / name), (Shape{8, 7, 7}));
    EXPECT_EQ(files[name]["shape"], Json({8, 7, 7}));
    EXPECT_EQ(files[name]["axes"], Json({"head", "query", "key"}));
    EXPECT_EQ(files[name]["dtype"], "float32");
    EXPECT_EQ(files[name]["kind"], "array");
  }
  EXPECT_EQ(shape_of(desk.run() / "output.npy"), (Shape{7, 13}));
  const std::vector<float> pattern = floats(desk.run() / "pattern.npy");
  for (std::size_t row = 0; row < 8 * 7; ++row) {
    double sum = 0;
    for (std::size_t key = 0; key < 7; ++key) {
      sum += static_cast<double>(pattern[row * 7 + key]);
      if (key > row % 7) {
        EXPECT_EQ(pattern[row * 7 + key], 0);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  const Json tokens = read_json(desk.run() / "tokens.json");
  EXPECT_EQ(tokens["kind"], "text");
  EXPECT_EQ(tokens["mask"], "causal");
  EXPECT_EQ(tokens["heads"], Json({"L0H0", "L0H1", "L0H2", "L0H3", "L1H0", "L1H1", "L1H2", "L1H3"}));
  EXPECT_EQ(tokens["queries"], 7);
  EXPECT_EQ(tokens["tokens"].size(), 7u);
  EXPECT_EQ(tokens["tokens"][2]["id"], 3);
  EXPECT_EQ(read(desk.run() / "attention.csv").substr(0, 52), "head,layer,index,entropy,first,self,previous,block\nL");
}

TEST(Capture, PutsFurtherInputsIntoFoldersOfTheirOwn) {
  const Desk desk;
  const std::string many = desk.ids("many.npy", {1, 2, 3, 4, 5, 6}, {2, 3});
  const Outcome outcome = desk.capture({"--ids", desk.path("ids.npy"), "--ids", many, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json said = Json::parse(outcome.out);
  ASSERT_EQ(said["inputs"].size(), 3u);
  EXPECT_EQ(said["inputs"][0]["folder"], "");
  EXPECT_EQ(said["inputs"][2]["folder"], "inputs/2/");
  EXPECT_EQ(said["inputs"][2]["likeliest"].size(), 5u);
  EXPECT_EQ(shape_of(desk.run() / "pattern.npy"), (Shape{8, 7, 7}));
  EXPECT_EQ(shape_of(desk.run() / "inputs/2/scores.npy"), (Shape{8, 3, 3}));
  EXPECT_EQ(read_json(desk.run() / "inputs/2/tokens.json")["tokens"][0]["id"], 4);
  std::set<std::string> listed;
  for (const auto& name : said["files"]) listed.insert(name);
  listed.insert("manifest.json");
  EXPECT_EQ(files_in(desk.run()), listed);
}

TEST(Capture, HalvesAreTheSameNumbersRounded) {
  const Desk desk;
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy")}).code, 0);
  const std::vector<float> whole = floats(desk.run() / "scores.npy");
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy"), "--dtype", "f16", "--force"}).code, 0);
  EXPECT_EQ(read_json(desk.run() / "manifest.json")["files"]["scores.npy"]["dtype"], "float16");
  const std::vector<float> halves = floats(desk.run() / "scores.npy");
  ASSERT_EQ(halves.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(halves[i], whole[i], 1e-3 * std::abs(whole[i]) + 1e-6);
}

TEST(Capture, KeepsOnlyTheHeadsLayersAndQueriesAskedFor) {
  const Desk desk;
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy")}).code, 0);
  const std::vector<float> all = floats(desk.run() / "pattern.npy");
  const Outcome outcome = desk.capture({"--ids", desk.path("ids.npy"), "--layers", "1", "--heads", "0,2", "--queries",
                                        "2-4", "--what", "pattern", "--no-output", "--force"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(files_in(desk.run()),
            (std::set<std::string>{"attention.csv", "manifest.json", "pattern.npy", "tokens.json"}));
  EXPECT_EQ(shape_of(desk.run() / "pattern.npy"), (Shape{2, 3, 7}));
  const std::vector<float> some = floats(desk.run() / "pattern.npy");
  for (std::size_t h = 0; h < 2; ++h) {
    for (std::size_t q = 0; q < 3; ++q) {
      for (std::size_t k = 0; k < 7; ++k) {
        EXPECT_NEAR(some[(h * 3 + q) * 7 + k], all[((4 + 2 * h) * 7 + q + 2) * 7 + k], 1e-6);
      }
    }
  }
  const Json tokens = read_json(desk.run() / "tokens.json");
  EXPECT_EQ(tokens["heads"], Json({"L1H0", "L1H2"}));
  EXPECT_EQ(tokens["first_query"], 2);
  EXPECT_EQ(tokens["queries"], 3);
  EXPECT_EQ(tokens["tokens"].size(), 7u);
}

TEST(Capture, MeasuresWhatAnAblationDoes) {
  const Desk desk;
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy")}).code, 0);
  const std::vector<float> before = floats(desk.run() / "output.npy");
  const Outcome outcome = desk.capture({"--ids", desk.path("ids.npy"), "--ablate", "L0H1,1.2", "--force"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Without L0H1, L1H2: loss "));
  EXPECT_NE(floats(desk.run() / "output.npy"), before);
  const std::string zero = read(desk.run() / "effect.csv");
  EXPECT_THAT(zero, testing::StartsWith("ablated,ablation,loss_before,loss_after,accuracy_before,accuracy_after,kl,"
                                        "agreement,change\nL0H1 L1H2,zero,"));
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy"), "--ablate", "L0H1,1.2", "--ablation", "mean", "--force"}).code,
            0);
  EXPECT_NE(read(desk.run() / "effect.csv"), zero);
  // Without an ablation the file that told of it is gone.
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy"), "--force"}).code, 0);
  EXPECT_FALSE(fs::exists(desk.run() / "effect.csv"));
  EXPECT_EQ(floats(desk.run() / "output.npy"), before);
}

TEST(Capture, GivesTheSameBytesForAnyNumberOfThreadsAndAgain) {
  const Desk desk;
  const std::string many = desk.ids("many.npy", {1, 2, 3, 4, 5, 6}, {2, 3});
  std::vector<std::string> bytes;
  for (const char* threads : {"1", "2", "1"}) {
    ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy"), "--ids", many, "--threads", threads}).code, 0);
    bytes.emplace_back();
    for (const std::string& name : files_in(desk.run())) {
      if (name != "manifest.json") bytes.back() += read(desk.run() / name);
    }
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(bytes[0], bytes[2]);
}

TEST(Capture, RefusesToReplaceAnotherResultWithoutForce) {
  const Desk desk;
  ASSERT_EQ(desk.capture({"--ids", desk.path("ids.npy")}).code, 0);
  EXPECT_EQ(desk.capture({"--ids", desk.path("ids.npy")}).code, 0);
  expect_failure(desk.command({"--ids", desk.path("ids.npy"), "--dtype", "f16"}), 2, "--dtype was f32, now f16");
  // Another file of the same name.
  desk.ids("ids.npy", {3, 2, 1}, {3});
  expect_failure(desk.command({"--ids", desk.path("ids.npy")}), 2, "the input, ids.npy, has changed since");
  EXPECT_EQ(shape_of(desk.run() / "pattern.npy"), (Shape{8, 7, 7}));
  EXPECT_EQ(desk.capture({"--ids", desk.path("ids.npy"), "--force"}).code, 0);
  EXPECT_EQ(shape_of(desk.run() / "pattern.npy"), (Shape{8, 3, 3}));
}

TEST(Capture, ReadsTextThroughTheModelsTokenizer) {
  const Desk desk;
  desk.add_tokenizer();
  const std::string file = desk.write("text.txt", "the mat\n\n \t\r\ncaf\xC3\xA9 on the mat.\r\n");
  const Outcome outcome = desk.capture({"--text", "the cat sat", "--text-file", file, "--lines"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  the cat sat: 3 tokens; next '"));
  const Json first = read_json(desk.run() / "tokens.json");
  EXPECT_EQ(first["source"], "the cat sat");
  EXPECT_EQ(first["tokens"][1], Json({{"text", "cat"}, {"id", 2}, {"begin", 4}, {"end", 7}}));
  EXPECT_EQ(read_json(desk.run() / "inputs/1/tokens.json")["tokens"].size(), 2u);
  const Json last = read_json(desk.run() / "inputs/2/tokens.json");
  ASSERT_EQ(last["tokens"].size(), 5u);
  EXPECT_EQ(last["tokens"][0]["text"], "caf\xC3\xA9");
  EXPECT_EQ(last["tokens"][1]["begin"], 6);
  ASSERT_EQ(desk.capture({"--text-file", file, "--max-tokens", "3", "--force"}).code, 0);
  EXPECT_EQ(read_json(desk.run() / "tokens.json")["tokens"].size(), 3u);
}

// A ViT of the golden files with what its pictures are prepared by.
struct ImageDesk {
  ImageDesk() {
    for (const char* name : {"config.json", "model.safetensors"})
      fs::copy(kForward + "vit/" + name, folder.path() / name);
    folder.write("preprocessor_config.json", R"({"image_processor_type": "ViTImageProcessor", "do_resize": true,
      "size": {"height": 16, "width": 16}, "resample": 2, "do_rescale": true, "rescale_factor": 0.00392156862745098,
      "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})");
  }
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"capture", folder.path().string(), "-o", (folder.path() / "run").string(),
                                    "--quiet"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  TemporaryFolder folder;
};

TEST(Capture, ReadsPicturesAndPixels) {
  const ImageDesk desk;
  std::string rows;
  for (std::size_t y = 0; y < 32; ++y) {
    rows.push_back('\0');
    for (std::size_t x = 0; x < 3 * 64; ++x) rows.push_back(static_cast<char>((x * 5 + y * 11) % 256));
  }
  const auto picture = desk.folder.write("picture.png", test::png_file(test::png_header(64, 32, 8, 2), rows));
  const fs::path array = desk.folder.path() / "pixels.npy";
  write_npy<float>(array, test::normals(2 * 3 * 16 * 16, 1), Shape{2, 3, 16, 16});
  const Outcome outcome = run_program(desk.command({"--image", picture.string(), "--pixels", array.string()}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const fs::path run = desk.folder.path() / "run";
  EXPECT_EQ(shape_of(run / "inputs/2/pattern.npy"), (Shape{4, 17, 17}));
  EXPECT_EQ(shape_of(run / "output.npy"), (Shape{1, 5}));
  const Json tokens = read_json(run / "tokens.json");
  EXPECT_EQ(tokens["kind"], "image");
  EXPECT_EQ(tokens["mask"], "none");
  EXPECT_EQ(tokens["image"], Json({{"height", 32}, {"width", 64}, {"grid", {4, 4}}}));
  EXPECT_EQ(tokens["file"], "picture.png");  // no folder
  EXPECT_EQ(tokens["source"], "picture.png");
  EXPECT_EQ(read_json(run / "inputs/2/tokens.json")["name"], "pixels.npy[1]");
  for (const char* input : {"", "inputs/1", "inputs/2"}) {
    EXPECT_EQ(shape_of(run / input / "thumbnail.npy"), (Shape{16, 16, 3}));
  }
  EXPECT_EQ(read_json(run / "manifest.json")["files"]["thumbnail.npy"]["dtype"], "uint8");
  ASSERT_EQ(tokens["tokens"].size(), 17u);
  EXPECT_EQ(tokens["tokens"][0]["text"], "[class]");
  EXPECT_EQ(tokens["tokens"][7]["text"], "patch 1,2");
  EXPECT_EQ(tokens["tokens"][7]["box"], Json({8.0, 32.0, 16.0, 48.0}));
}

TEST(Capture, KeepsNoThumbnailsIfToldSoOrIfItCannotUndoTheNormalization) {
  const ImageDesk desk;
  const fs::path run = desk.folder.path() / "run";
  const fs::path array = desk.folder.path() / "pixels.npy";
  write_npy<float>(array, test::normals(3 * 16 * 16, 1), Shape{3, 16, 16});
  ASSERT_EQ(run_program(desk.command({"--pixels", array.string()})).code, 0);
  EXPECT_TRUE(fs::exists(run / "thumbnail.npy"));
  ASSERT_EQ(run_program(desk.command({"--pixels", array.string(), "--no-thumbnails", "--force"})).code, 0);
  EXPECT_FALSE(fs::exists(run / "thumbnail.npy"));
  fs::remove(desk.folder.path() / "preprocessor_config.json");
  ASSERT_EQ(run_program(desk.command({"--pixels", array.string(), "--force"})).code, 0);
  EXPECT_FALSE(fs::exists(run / "thumbnail.npy"));
}

TEST(Capture, ReadsSeveralFilesAndFolders) {
  const ImageDesk desk;
  const std::string image = test::png_file(test::png_header(1, 1, 8, 2), std::string(4, '\0'));
  for (const char* name : {"photos/10.png", "photos/9.PNG", "photos/notes.txt"}) desk.folder.write(name, image);
  const std::string one = desk.folder.write("9.PNG", image).string();
  const std::string photos = (desk.folder.path() / "photos").string();
  const Outcome outcome = run_program(desk.command({"--image", one, photos, "--no-output", "--image", one}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> names;
  for (const char* input : {"", "inputs/1", "inputs/2", "inputs/3"}) {
    names.push_back(read_json(desk.folder.path() / "run" / input / "tokens.json")["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"9.PNG", "9.PNG (2)", "10.png", "9.PNG (3)"}));

  desk.folder.write("broken/3.png", "not an image");
  expect_failure(desk.command({"--image", (desk.folder.path() / "broken").string()}), 3, "broken/3.png");
  fs::create_directory(desk.folder.path() / "empty");
  expect_failure(desk.command({"--image", (desk.folder.path() / "empty").string()}), 3, "has no PNG or JPEG file");
  expect_failure(desk.command({"--image", photos + "/*.jpg"}), 3, "matches no file");
}

TEST(Capture, RefusesWrongInputInOneLine) {
  const Desk desk;
  const std::string ids = desk.path("ids.npy");
  expect_failure(desk.command({}), 2, "nothing to run the model on");
  expect_failure(desk.command({"--text", "hello"}), 3, "has no tokenizer");
  expect_failure(desk.command({"--ids", desk.path("nowhere.npy")}), 3, "nowhere.npy");
  expect_failure(desk.command({"--ids", desk.write("x.npy", "not an array")}), 3, "x.npy");
  expect_failure(desk.command({"--ids", desk.ids("a.npy", {1, 13}, {2})}), 3, "token 1 has id 13");
  expect_failure(desk.command({"--ids", desk.ids("b.npy", {1, -1}, {2})}), 3,
                 "-1 at index 1 is not a token id, expected a non-negative 32-bit integer");
  expect_failure(desk.command({"--ids", desk.ids("c.npy", {}, {0})}), 3, "expected token ids");
  expect_failure(desk.command({"--ids", desk.ids("d.npy", {1}, {1, 1, 1})}), 3, "expected token ids");
  expect_failure(desk.command({"--image", "x.png"}), 3, "the model takes tokens; use --text or --ids");
  expect_failure(desk.command({"--pixels", "x.npy"}), 3, "the model takes tokens");
  expect_failure(desk.command({"--ids", ids, "--queries", "9"}), 2,
                 "--queries selects none of the 7 tokens of input 0");
  expect_failure(desk.command({"--ids", ids, "--queries", "5-3"}), 2, "expected an index or a range such as 3-5");
  expect_failure(desk.command({"--ids", ids, "--queries", "9-18446744073709551614"}), 2, "--queries selects none");
  expect_failure(desk.command({"--ids", ids, "--queries", "9-18446744073709551615"}), 2,
                 "expected an index or a range");
  expect_failure(desk.command({"--ids", ids, "--queries", "x\ny"}), 2, "--queries: expected an index or a range");
  expect_failure(desk.command({"--ids", ids, "--what", "maps"}), 2,
                 "--what: unknown value 'maps'; expected one of pattern, scores");
  expect_failure(desk.command({"--ids", ids, "--dtype", "f64"}), 2, "f64");
  expect_failure(desk.command({"--ids", ids, "--heads", "4"}), 2, "there is no head 4");
  expect_failure(desk.command({"--ids", ids, "--ablate", "seven"}), 2,
                 "--ablate: expected a head such as L4H7, found 'seven'");
  expect_failure(desk.command({"--ids", ids, "--ablate", "L0KV0"}), 2, "L0KV0 is not a query head");
  expect_failure(desk.command({"--ids", ids, "--ablate", "L9H0"}), 2, "L9H0 is not a query head");
  expect_failure(desk.command({"--ids", ids, "--memory", "10K"}), 6, "use a larger --memory");
  expect_failure(desk.command({"--ids", ids, "--memory", "much"}), 2, "much");
  desk.add_tokenizer();
  expect_failure(desk.command({"--text", ""}), 2, "the text is empty");
  expect_failure(desk.command({"--text-file", desk.write("blank.txt", "\n \n"), "--lines"}), 3,
                 "has no line with text in it");
  expect_failure({"capture", desk.path("nothing"), "-o", desk.path("run"), "--ids", ids}, 3, "nothing");
  EXPECT_TRUE(files_in(desk.run()).empty());
  EXPECT_FALSE(fs::exists(desk.run()));
}

TEST(Capture, RefusesWrongPicturesInOneLine) {
  const ImageDesk desk;
  const std::string text = desk.folder.write("not.png", "this is no picture").string();
  expect_failure(desk.command({"--image", text}), 3, "not.png");
  expect_failure(desk.command({"--text", "hello"}), 3, "the model takes images; use --image or --pixels");
  expect_failure(desk.command({"--ids", "x.npy"}), 3, "the model takes images");
  const fs::path array = desk.folder.path() / "pixels.npy";
  write_npy<float>(array, test::normals(3 * 16 * 20, 1), Shape{3, 16, 20});
  expect_failure(desk.command({"--pixels", array.string()}), 3, "the image is 16 x 20, but the model expects 16 x 16");
  EXPECT_TRUE(files_in(desk.folder.path() / "run").empty());
}

TEST(Capture, BrokenWeightsGiveCode4AndNoFiles) {
  TinyLlama tiny;
  tiny.values.at("lm_head.weight")[3] = std::nanf("");
  const TemporaryFolder folder;
  tiny.write(folder);
  const fs::path ids = folder.path() / "ids.npy";
  write_npy<std::int64_t>(ids, std::vector<std::int64_t>{1, 2}, Shape{2});
  const std::string run = (folder.path() / "run").string();
  expect_failure({"capture", folder.path().string(), "-o", run, "--ids", ids.string(), "--quiet"}, 4,
                 "'lm_head.weight'");
  EXPECT_TRUE(files_in(run).empty());
}

}  // namespace
}  // namespace headscope::cli
