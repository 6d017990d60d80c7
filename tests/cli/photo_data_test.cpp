#include <gtest/gtest.h>

#include <array>

#include "backbones/backbones_module.hpp"
#include "backbones/onnx_bytes.hpp"
#include "cli/run_cli.hpp"
#include "environment_variable.hpp"
#include "images/bmp_photos.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

/// Photographs of three classes, a table of four, a backbone, and a cache of its own; nothing is fetched.
class PhotoData : public FolderTest {
 protected:
  void SetUp() override { PARSNETS_NEED_BACKBONES(); }
  PhotoData() {
    for (unsigned i = 0; i < 30; ++i)
      write_photo(dir / "photos" / std::array{"bear", "deer", "frog"}[i % 3] / (std::to_string(i) + ".bmp"), i);
    write_text_file(dir / "network.onnx", onnx_of_pixels(4, 4));
    write_text_file(dir / "network.json", R"({"preset": "tf", "width": 4, "height": 4})");
    write_text_file(dir / "classes.csv", "class,furry,horns\ndeer,1,1\nbear,1,0\ncat,0.5,0\nfrog,0,0\n");
  }
  std::string at(const std::string& name) const { return dir.file(name); }
  Words train(const std::string& out) const {
    return {"train", at("photos"), "--classes", at("classes.csv"), "--backbone", at("network.onnx"), "--method",
            "eszsl", "-o",         at(out)};
  }

  EnvironmentVariable cache_{"XDG_CACHE_HOME", dir.file("cache")}, offline_{"PARSNETS_OFFLINE", "1"};
};

}  // namespace

TEST_F(PhotoData, FromPhotographsToAnswersInTwoCommands) {
  const auto trained = run_ok(train("m.safetensors"));
  EXPECT_TRUE(has(trained.err, "30 photographs of 3 classes, 0 of them with features from the cache"));
  EXPECT_TRUE(has(trained.out, "all samples train"));
  const auto found = run_json({"predict", at("m.safetensors"), at("photos/deer"), "--top", "4"});
  ASSERT_EQ(found["predictions"].size(), 10u);
  EXPECT_EQ(found["predictions"][0]["top"].size(), 4u) << "the class that is only described is among them";
  run_ok({"explain", at("m.safetensors"), at("photos/deer/1.bmp")});
  run_ok({"export", at("m.safetensors"), "-o", at("m.pnrt")});
  run_error({"predict", at("m.safetensors"), at("photos"), "more"}, 3, "more");
}

TEST_F(PhotoData, FeaturesComeFromTheCacheWhateverThePhotographsAreCalled) {
  run_ok(train("first.safetensors"));
  EXPECT_TRUE(has(run_ok(train("again.safetensors")).err, "30 of them with features from the cache"));
  EXPECT_TRUE(same_file_bytes(at("first.safetensors"), at("again.safetensors")));
  fs::rename(dir / "photos/deer/1.bmp", dir / "photos/deer/renamed.bmp");
  write_photo(dir / "photos/deer/4.bmp", 400);
  EXPECT_TRUE(has(run_ok(train("other.safetensors")).err, "29 of them with features from the cache"));
}

TEST_F(PhotoData, TheBackboneIsFoundOrTheMessageSaysWhereToPutIt) {
  run_ok(train("m.safetensors"));
  fs::rename(dir / "network.onnx", dir / "moved.onnx");
  const Words predict{"predict", at("m.safetensors"), at("photos/deer")};
  run_error(predict, 3, "copy it there, or name it by --backbone FILE.onnx");
  run_ok(predict + Words{"--backbone", at("moved.onnx")});
  fs::create_directories(dir / "cache/parsnets/backbones");
  fs::rename(dir / "moved.onnx", dir / "cache/parsnets/backbones/network.onnx");
  run_ok(predict);
}

TEST_F(PhotoData, WithoutATestPartEvalSaysWhatToDo) {
  run_ok(train("m.safetensors"));
  run_error({"eval", at("m.safetensors"), at("photos")}, 3, "draw a split that holds classes out");
}

TEST_F(PhotoData, WhatIsMissingIsToldBeforeTheWork) {
  auto words = train("m.safetensors");
  words[3] = at("none.csv");
  run_error(words, 3, "none.csv");
  run_error({"train", at("photos"), "--backbone", at("network.onnx"), "-o", at("m.safetensors")}, 3,
            "--classes FILE.csv");
  fs::copy(dir / "classes.csv", dir / "photos/classes.csv");
  run_ok({"train", at("photos"), "--backbone", at("network.onnx"), "--method", "eszsl", "-o", at("m.safetensors")});
  run_error({"train", kDemo, "--classes", at("classes.csv"), "-o", at("m.safetensors")}, 2, "are for photographs");
}

TEST_F(PhotoData, NamesAloneGoWithATableOfVectors) {
  write_text_file(dir / "names.csv", "class\ndeer\nbear\ncat\nfrog\n");
  write_text_file(dir / "words.txt", "deer 1 1 0\nbear 1 0 0\ncat 0.5 0 1\nfrog 0 0 1\n");
  auto words = train("m.safetensors");
  words[3] = at("names.csv");
  run_error(words, 3, "--semantics");
  run_ok(words + Words{"--semantics", at("words.txt")});
}

TEST_F(PhotoData, ABackboneThatCannotBeFetchedIsAMessage) {
  const std::string copy =
      "copy mobilenet.onnx and mobilenet.json from the folder that it names to " + at("cache/parsnets/backbones");
  run_error({"backbone", "get", "mobilenet"}, 1, copy);
  run_error({"train", at("photos"), "--classes", at("classes.csv"), "-o", at("m.safetensors")}, 1, copy);
  EXPECT_TRUE(has(run_ok({"backbone", "list"}).out, "'parsnets backbone get resnet50' fetches 95 MB"));
  fs::create_directories(dir / "cache/parsnets/backbones");
  write_text_file(dir / "cache/parsnets/backbones/mobilenet.onnx", "damaged");
  run_error({"backbone", "check"}, 1, "remove it and run 'parsnets backbone get mobilenet'");
}

}  // namespace parsnets::test
