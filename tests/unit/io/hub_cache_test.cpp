#include "headscope/io/hub_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/hub_cache.h"

namespace headscope {
namespace {

namespace fs = std::filesystem;
using test::HubCache;
using test::kCommit;
using test::kOtherCommit;
using test::TemporaryFolder;
using test::Variable;

TEST(HubCacheFolder, FollowsTheVariablesOfHuggingFace) {
  const Variable home("HOME", "/home/me");
  const Variable xdg("XDG_CACHE_HOME", std::nullopt);
  const Variable hf_home("HF_HOME", std::nullopt);
  const Variable old_name("HUGGINGFACE_HUB_CACHE", std::nullopt);
  const Variable name("HF_HUB_CACHE", std::nullopt);
  EXPECT_EQ(hub_cache_folder(), "/home/me/.cache/huggingface/hub");
  const Variable xdg_set("XDG_CACHE_HOME", "/var/cache");
  EXPECT_EQ(hub_cache_folder(), "/var/cache/huggingface/hub");
  const Variable hf_home_set("HF_HOME", "~/hf");
  EXPECT_EQ(hub_cache_folder(), "/home/me/hf/hub");
  const Variable old_name_set("HUGGINGFACE_HUB_CACHE", "/old");
  EXPECT_EQ(hub_cache_folder(), "/old");
  const Variable name_set("HF_HUB_CACHE", "/new");
  EXPECT_EQ(hub_cache_folder(), "/new");
  const Variable name_empty("HF_HUB_CACHE", "");
  EXPECT_EQ(hub_cache_folder(), "/old");
}

TEST(HubCacheFolder, IsNoneWithoutAHome) {
  const Variable home("HOME", std::nullopt);
  const Variable xdg("XDG_CACHE_HOME", std::nullopt);
  const Variable hf_home("HF_HOME", std::nullopt);
  const Variable old_name("HUGGINGFACE_HUB_CACHE", std::nullopt);
  const Variable name("HF_HUB_CACHE", std::nullopt);
  EXPECT_EQ(hub_cache_folder(), "");
  EXPECT_ERROR(find_model("gpt2"), ErrorKind::kIo,
               "gpt2: no such file or folder, and there is no Hugging Face cache to look in, since HOME is not set; "
               "download it with: hf download gpt2");
}

TEST(FindModel, FindsASnapshotByName) {
  const HubCache cache;
  cache.add("openai-community/gpt2", {{"config.json", "{}"}});
  for (const char* name : {"openai-community/gpt2", "gpt2"}) {
    const ModelLocation found = find_model(name);
    EXPECT_EQ(found.path, cache.snapshot("openai-community/gpt2"));
    EXPECT_EQ(found.repository, "openai-community/gpt2");
    EXPECT_EQ(found.revision, "");
    EXPECT_EQ(found.commit, kCommit);
    EXPECT_EQ(found.cache, cache.path());
  }
}

TEST(FindModel, PrefersTheModelWithoutAnOwner) {
  const HubCache cache;
  cache.add("openai-community/gpt2", {});
  cache.add("gpt2", {}, "main", kOtherCommit);
  EXPECT_EQ(find_model("gpt2").repository, "gpt2");
  EXPECT_EQ(find_model("gpt2").commit, kOtherCommit);
}

TEST(FindModel, RefusesToChooseBetweenOwners) {
  const HubCache cache;
  cache.add("one/gpt2", {});
  cache.add("two/gpt2", {});
  cache.add("two/other-gpt2", {});
  EXPECT_ERROR(find_model("gpt2"), ErrorKind::kUnsupported, "have this name; pass one of one/gpt2, two/gpt2");
  EXPECT_EQ(find_model("other-gpt2").repository, "two/other-gpt2");
}

TEST(FindModel, FindsBranchesTagsAndCommits) {
  const HubCache cache;
  cache.add("me/model", {});
  cache.add("me/model", {}, "refs/pr/1", kOtherCommit);
  EXPECT_EQ(find_model("me/model", "main").commit, kCommit);
  EXPECT_EQ(find_model("me/model", "refs/pr/1").commit, kOtherCommit);
  EXPECT_EQ(find_model("me/model", "refs/pr/1").revision, "refs/pr/1");
  EXPECT_EQ(find_model("me/model", kOtherCommit).path, cache.snapshot("me/model", kOtherCommit));
  EXPECT_ERROR(find_model("me/model", "v2"), ErrorKind::kIo,
               "has no revision 'v2', only " + kCommit + ", " + kOtherCommit +
                   "; download it with: hf download me/model --revision v2");
  EXPECT_ERROR(find_model("me/model", "refs"), ErrorKind::kIo, "has no revision 'refs'");
  EXPECT_ERROR(find_model("me/model", "0123"), ErrorKind::kIo, "has no revision '0123'");
}

TEST(FindModel, AnExistingPathGoesBeforeAName) {
  const HubCache cache;
  cache.add("gpt2", {});
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "gpt2");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  const ModelLocation found = find_model("gpt2");
  fs::current_path(before);
  EXPECT_EQ(found.path, "gpt2");
  EXPECT_FALSE(found.is_cached());
}

TEST(FindModel, TakesARepositorysFolderAndItsSnapshots) {
  const HubCache cache;
  cache.add("me/model", {{"config.json", "{}"}});
  cache.add("me/model", {}, "v1", kOtherCommit);
  const fs::path folder = cache.path() / "models--me--model";
  EXPECT_EQ(find_model(folder).commit, kCommit);
  EXPECT_EQ(find_model(folder / "", "v1").commit, kOtherCommit);
  const ModelLocation snapshot = find_model(cache.snapshot("me/model"));
  EXPECT_EQ(snapshot.path, cache.snapshot("me/model"));
  EXPECT_EQ(snapshot.repository, "me/model");
  EXPECT_EQ(snapshot.commit, kCommit);
  EXPECT_EQ(find_model(cache.snapshot("me/model") / "config.json").commit, kCommit);
  const TemporaryFolder elsewhere;
  fs::create_directory_symlink(cache.snapshot("me/model"), elsewhere.path() / "link");
  EXPECT_EQ(find_model(elsewhere.path() / "link").commit, kCommit);
  EXPECT_EQ(find_model(elsewhere.path() / "link").path, elsewhere.path() / "link");
}

TEST(FindModel, RefusesARevisionOfWhatHasNone) {
  const HubCache cache;
  cache.add("me/model", {{"config.json", "{}"}});
  EXPECT_ERROR(find_model(cache.snapshot("me/model"), "main"), ErrorKind::kInvalidArgument,
               "is one revision already; pass the model's name instead: me/model");
  const TemporaryFolder folder;
  EXPECT_ERROR(find_model(folder.path(), "main"), ErrorKind::kInvalidArgument,
               "is a folder, and only models of the Hugging Face cache have revisions");
  EXPECT_ERROR(find_model(folder.write("m.gguf", "GGUF"), "main"), ErrorKind::kInvalidArgument, "is a file, and only");
}

TEST(FindModel, ListsTheModelsOfAWholeCache) {
  const HubCache cache;
  for (const char* name : {"a/1", "b/2", "c/3", "d/4", "e/5", "f/6", "gpt2"}) cache.add(name, {});
  fs::create_directories(cache.path() / "datasets--a--b");
  EXPECT_ERROR(find_model(cache.path()), ErrorKind::kUnsupported,
               "is a whole Hugging Face cache; name one of its models: a/1, b/2, c/3, d/4, e/5 and 2 more");
}

TEST(FindModel, SaysHowToDownloadWhatIsNotThere) {
  const HubCache cache;
  EXPECT_ERROR(find_model("gpt2"), ErrorKind::kIo,
               "gpt2: no such file or folder, and the Hugging Face cache (" + cache.path().string() +
                   ") has no model of this name; download it with: hf download gpt2");
  EXPECT_ERROR(find_model("me/model", "v1"), ErrorKind::kIo, "download it with: hf download me/model --revision v1");
  EXPECT_ERROR(find_model("gpt2", "a;b'c"), ErrorKind::kIo, R"(hf download gpt2 --revision 'a;b'\''c')");
  EXPECT_ERROR(find_model("gpt2", "", "/no/such/cache"), ErrorKind::kIo, "hf download gpt2 --cache-dir /no/such/cache");
}

TEST(FindModel, NoticesADownloadThatHasJustBegun) {
  const HubCache cache;
  cache.folder().write("models--me--model/blobs/abc.incomplete", "");
  EXPECT_ERROR(find_model("me/model"), ErrorKind::kIo,
               "has no revision 'main'; its download is unfinished (blobs/abc.incomplete); download it with: hf "
               "download me/model");
}

TEST(FindModel, NamesThatLookLikePathsAreOnlyPaths) {
  const HubCache cache;
  for (const std::string name : {"./gpt2", "../gpt2", "/gpt2", "~/gpt2", "a/b/c", "gpt2/", "a//b", "gpt2.gguf", "a\\b",
                                 "..", "a/..", "../..", "a..b", "a--b", "-a", "a-", "x\n\x1b[2J", "na\xc3\xafve", ""}) {
    try {
      static_cast<void>(find_model(name == ".." || name == "../.." ? "no/" + name + "/such" : name));
      ADD_FAILURE() << "found " << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kIo) << name;
      EXPECT_THAT(error.what(), testing::HasSubstr(": no such file or folder; expected a folder")) << name;
    }
  }
  EXPECT_ERROR(find_model(""), ErrorKind::kIo, "'': no such file or folder");
  EXPECT_ERROR(find_model(std::string("a\0b", 3)), ErrorKind::kIo, "no such file or folder");
  EXPECT_ERROR(find_model(std::string(97, 'a')), ErrorKind::kIo, "no such file or folder; expected");
  EXPECT_ERROR(find_model(std::string(100000, 'a')), ErrorKind::kIo, "cannot access");
}

TEST(FindModel, NothingLeadsOutOfTheCache) {
  const TemporaryFolder outside;
  outside.write("secret/config.json", "{}");
  outside.write("hub/models--me--model/refs/main", "../../../../secret");
  outside.write("hub/models--me--model/snapshots/x/config.json", "{}");
  const fs::path cache = outside.path() / "hub";
  EXPECT_ERROR(find_model("me/model", "", cache), ErrorKind::kFormat, "refs/main: does not hold the name of a commit");
  for (const char* revision :
       {"../../../secret", "a/../../b", "/etc/passwd", "a//b", "a/", "./a", "a\\b", "a\nb", "..", ".", "-x", "a b"}) {
    EXPECT_ERROR(find_model("me/model", revision, cache), ErrorKind::kInvalidArgument,
                 "is not the name of a branch, tag or commit");
  }
  EXPECT_ERROR(find_model("me/model", std::string(100000, 'a'), cache), ErrorKind::kInvalidArgument, "--revision");
}

TEST(FindModel, RefusesRefsThatNameNoSnapshot) {
  const HubCache cache;
  cache.add("me/model", {}, "");
  EXPECT_ERROR(find_model("me/model"), ErrorKind::kIo, "has no revision 'main', only " + kCommit);
  const auto with_ref = [&](std::string_view text) {
    cache.folder().write("models--me--model/refs/main", text);
    return find_model("me/model");
  };
  EXPECT_EQ(with_ref(kCommit + "\n").commit, kCommit);
  for (const std::string& text :
       {std::string(), std::string("\0\xff\n\x1b", 4), std::string(1 << 20, 'a'), kCommit + "/..", std::string("..")}) {
    EXPECT_ERROR(
        with_ref(text), ErrorKind::kFormat,
        "does not hold the name of a commit (hexadecimal digits); download the model again: hf download me/model");
  }
  EXPECT_ERROR(with_ref(kOtherCommit), ErrorKind::kIo, "is missing or not a folder; download it with: hf download");
  cache.folder().write("models--me--model/snapshots/" + kOtherCommit, "a file");
  EXPECT_ERROR(with_ref(kOtherCommit), ErrorKind::kIo, "is missing or not a folder");
  EXPECT_ERROR(find_model("me/model", kOtherCommit), ErrorKind::kIo, "has no revision 'fedc");
}

TEST(FindModel, SurvivesACacheThatIsNone) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("file", "");
  EXPECT_ERROR(find_model("gpt2", "", file), ErrorKind::kIo, "has no model of this name");
  folder.write("hub/models--gpt2", "");
  EXPECT_ERROR(find_model("gpt2", "", folder.path() / "hub"), ErrorKind::kIo, "models--gpt2 is not a folder");
  fs::create_symlink("loop", folder.path() / "loop");
  EXPECT_ERROR(find_model("gpt2", "", folder.path() / "loop"), ErrorKind::kIo, "cannot access");
}

}  // namespace
}  // namespace headscope
