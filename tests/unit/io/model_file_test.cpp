#include "headscope/io/model_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;

TEST(ModelFile, MayBeALinkWithinTheFolderOrIntoACache) {
  const test::TemporaryFolder folder;
  folder.write("model/weights/part.safetensors", "x");
  fs::create_symlink("weights/part.safetensors", folder.path() / "model/model.safetensors");
  EXPECT_TRUE(model_file_exists(folder.path() / "model/model.safetensors"));
  folder.write("hub/models--a--b/blobs/1234", "x");
  fs::create_directories(folder.path() / "hub/models--a--b/snapshots/main");
  fs::create_symlink("../../blobs/1234", folder.path() / "hub/models--a--b/snapshots/main/config.json");
  EXPECT_TRUE(model_file_exists(folder.path() / "hub/models--a--b/snapshots/main/config.json"));
  EXPECT_FALSE(model_file_exists(folder.path() / "model/config.json"));
}

TEST(ModelFile, MayNotBeALinkThatLeadsElsewhere) {
  const test::TemporaryFolder folder;
  folder.write("secret.json", "x");
  folder.write("model/weights", "x");
  fs::create_symlink("../secret.json", folder.path() / "model/config.json");
  EXPECT_ERROR(static_cast<void>(model_file_exists(folder.path() / "model/config.json")), ErrorKind::kIo,
               "config.json: is a link that leads out of the folder of the model");
  fs::create_symlink("../model/weights", folder.path() / "model/model.safetensors");
  EXPECT_TRUE(model_file_exists(folder.path() / "model/model.safetensors"));
}

}  // namespace
}  // namespace headscope
