#include <dlfcn.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <map>
#include <thread>

#include "backbones/backbones_module.hpp"
#include "backbones/onnx_bytes.hpp"
#include "cli/run_cli.hpp"
#include "formats/npy.hpp"
#include "images/bmp_photos.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets::test {

namespace {

/// Folders of photographs, a table of classes, and a network of which the features are the pixels.
class ExtractCommand : public FolderTest {
 protected:
  void SetUp() override { PARSNETS_NEED_BACKBONES(); }
  ExtractCommand() {
    for (unsigned i = 0; i < 12; ++i) write_photo(dir / "photos" / class_of(i) / (std::to_string(i) + ".bmp"), i);
    write_text_file(dir / "network.onnx", onnx_of_pixels(4, 4));
    expects(R"({"preset": "tf", "fit": "whole", "width": 4, "height": 4})");
    write_text_file(dir / "classes.csv", "class,furry,horns\ndeer,1,1\nbear,1,0\ncat,0.5,0\nfrog,0,0\n");
  }
  static std::string class_of(unsigned i) { return std::array{"bear", "deer", "frog"}[i % 3]; }
  /// The preprocessing file of the network.
  void expects(const std::string& json) const { write_text_file(dir / "network.json", json); }
  std::string at(const std::string& name) const { return dir.file(name); }
  Words words(const std::string& out, const Words& more = {}) const {
    return Words{"extract", "--images", at("photos"), "--backbone", at("network.onnx"), "--out", at(out)} + more;
  }
  std::map<std::string, std::string> files(const std::string& out) const {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::directory_iterator(dir / out))
      contents[entry.path().filename().string()] = read_text_file(entry.path());
    return contents;
  }
};

}  // namespace

TEST_F(ExtractCommand, FromPhotographsToAModel) {
  const auto json = run_json(words("data", {"--attributes", at("classes.csv")}));
  EXPECT_TRUE(has_members(json, {{"images", 12}, {"dimensions", 48}, {"classes", 4}}));
  EXPECT_TRUE(has_members(json["backbone"], {{"preset", "tf"}, {"layer", "pixels"}})) << "as its file says";
  EXPECT_EQ(json["backbone"]["sha256"].get<std::string>().size(), 64u);
  EXPECT_TRUE(json["engine"].get<std::string>().starts_with("O"));
  run_ok({"data", "split", at("data"), "--unseen", "frog", "--validation", "0"});
  run_ok({"train", "--data", at("data"), "--method", "eszsl", "--out", at("m.safetensors")});
  run_ok({"eval", "--data", at("data"), "--model", at("m.safetensors")});
  // other settings: other features, which the model refuses
  expects(R"({"preset": "caffe", "fit": "whole", "width": 4, "height": 4})");
  run_ok(words("other", {"--attributes", at("classes.csv")}));
  fs::copy_file(dir / "data/split.json", dir / "other/split.json");
  run_error({"eval", "--data", at("other"), "--model", at("m.safetensors")}, 3, "4 x 4 caffe whole");
}

TEST_F(ExtractCommand, TellsWhatIsMissing) {
  write_text_file(dir / "photos/bear/broken.jpg", "no");
  write_text_file(dir / "photos/bear/note.heic", "another format");
  fs::create_directories(dir / "photos/cat");
  fs::create_symlink("gone.bmp", dir / "photos/bear/link.bmp");
  const auto result = run_ok(words("data"));
  for (const char* text : {"12 photographs x 48 features, 3 classes", "1 image cannot be read and is left out:",
                           "bear/broken.jpg: another kind of file", "classes without a readable image: 'cat'",
                           "left out because of their endings: 1 file (1 .heic)", "broken links: 'bear/link.bmp'",
                           "attributes.csv, a header", "to measure it, first: parsnets data split"})
    EXPECT_TRUE(has(result.out, text)) << text;
  EXPECT_EQ(result.err, "");
  run_error({"data", "split", at("data")}, 3, "a table of class attributes");
  fs::copy_file(dir / "classes.csv", dir / "data/attributes.csv");
  run_ok({"data", "split", at("data")});
}

TEST_F(ExtractCommand, InterruptedItGoesOnAndEndsWithTheSameBytes) {
  write_text_file(dir / "network.onnx", onnx_with_convolutions(60));
  expects(R"({"preset": "tf", "fit": "whole", "width": 60, "height": 60})");
  run_ok(words("whole"));
  fs::create_directories(dir / "photos/zebra");  // comes last, and takes many times as long as the test
  for (unsigned i = 0; i < 30'000; ++i)
    fs::create_hard_link(dir / "photos/bear/0.bmp", dir / "photos/zebra" / (std::to_string(i) + ".bmp"));
  CliProcess process(words("data"));
  std::error_code absent;
  const fs::path partial = dir / "data/extraction.partial";
  while (!fs::exists(partial, absent) || fs::file_size(partial, absent) < 2000) {  // some photographs
    ASSERT_TRUE(process.lives()) << process.finish().err;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.send(SIGINT);
  const auto interrupted = expect_error(process.finish(), 130, "the same command goes on");
  EXPECT_TRUE(has(interrupted.err, "stopping after this photograph; Ctrl-C again ends at once"));
  const auto left = files("data");
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left.begin()->first, "extraction.partial") << "no half-written data set";
  fs::remove_all(dir / "photos/zebra");
  EXPECT_GT(run_json(words("data"))["continued"], 0);
  EXPECT_EQ(files("data"), files("whole"));
}

TEST_F(ExtractCommand, AFileThatGrowsBeyondItsLimitIsAMessage) {
  const auto result = run_error(words("data", {"--threads", "1"}), 1, "", "ulimit -f 4;");  // 2 KB
  EXPECT_TRUE(has_all(result.err, {"extraction.partial: File too large", "the same command goes on"}));
  run_ok(words("data"));
}

TEST_F(ExtractCommand, ThreadsDoNotMatter) {
  write_text_file(dir / "network.onnx", onnx_with_convolutions(23));
  expects(R"({"preset": "tf", "fit": "whole", "width": 23, "height": 23})");
  for (const char* threads : {"1", "2", "3"}) run_ok(words(threads, {"--threads", threads}));
  for (const char* threads : {"2", "3"}) EXPECT_EQ(files("1"), files(threads));
}

TEST_F(ExtractCommand, TwoAtOnceWriteOneDataSet) {
  for (unsigned i = 12; i < 300; ++i) write_photo(dir / "photos" / class_of(i) / (std::to_string(i) + ".bmp"), i);
  run_ok(words("whole"));
  int codes[2] = {-1, -1};
  std::thread first([&] { codes[0] = run_cli(words("data")).exit_code; });
  std::thread second([&] { codes[1] = run_cli(words("data")).exit_code; });
  first.join();
  second.join();
  EXPECT_EQ(std::min(codes[0], codes[1]), 0);
  EXPECT_EQ(std::max(codes[0], codes[1]), 2) << "the other finds the data set";
  EXPECT_EQ(files("data"), files("whole"));
}

TEST_F(ExtractCommand, SettingsOfTheNetwork) {
  const std::string photo = at("photos/bear/0.bmp");
  write_text_file(dir / "any.onnx", onnx_of_pixels());
  const auto json = [&](const std::string& preprocessing) {
    if (!preprocessing.empty()) write_text_file(dir / "any.json", preprocessing);
    const auto told = run_json({"extract", "--images", photo, "--backbone", at("any.onnx"), "--out", at("one")});
    fs::remove_all(dir / "one");
    return told["backbone"];
  };
  EXPECT_TRUE(has_members(json(""), {{"width", 224}, {"fit", "whole"}})) << "without a preprocessing file";
  const auto wide = json(R"({"width": 6, "height": 5, "fit": "whole", "preset": "caffe", "layer": "positive"})");
  EXPECT_TRUE(has_members(wide, {{"width", 6}, {"height", 5}, {"preset", "caffe"}, {"dimensions", 3}}));
  EXPECT_EQ(json(R"({"height": 7})")["height"], 7);
  expects(R"({"width": 8, "height": 8})");
  run_error(words("data"), 3, "takes any x 3 x 4 x 4");
  expects(R"({"width": 0, "height": 4})");
  run_error(words("data"), 3, "network.json");
  expects(R"({"width": 4, "height": 4, "layer": "none"})");
  run_error(words("data"), 3, "is one of its outputs: pixels");
  expects(R"({"preset": "sepia"})");
  run_error(words("data"), 3, "network.json");
  for (const char* target : {"nowhere", "network.json", "/dev/null", "photos"}) {  // links to nothing, in a circle, …
    fs::remove(dir / "network.json");
    fs::create_symlink(target, dir / "network.json");
    run_error(words("data"), 3, "network.json");
  }
  fs::remove(dir / "network.json");
  expects(R"({"preset": )");
  run_error(words("data"), 3, "network.json: expected a JSON object, found parse error at line 1, column 12: ");
}

TEST_F(ExtractCommand, IsCheckedBeforeTheWork) {
  run_error({"extract", "--images", at("photos")}, 2, "--out");
  run_error(words("network.onnx/below"), 3, "network.onnx/below");
  write_text_file(dir / "classes.csv", "class,furry\nbear,1\ndeer,1\n");
  run_error(words("data", {"--attributes", at("classes.csv")}), 3, "none for 'frog'");
  run_error(
      {"extract", "--images", at("photos/bear"), "--backbone", at("network.onnx"), "--attributes", at("classes.csv"),
       "--out", at("data")},
      2, "--attributes describes classes, but 'bear' has no class folders; did you mean its parent, " + at("photos"));
  run_error(words("photos/bear/data"), 2, "--out: expected a folder outside the photographs, found");
  run_error(words("data", {"--quiet", "more", "words"}), 2,
            "parsnets: extract: expected no further argument, found 'more', 'words'");
#ifndef PARSNETS_SANITIZED  // which needs more than the limit itself
  run_error(words("data", {"--memory-limit", "100MB"}), 2, "decoding photographs");
#endif
  run_error(words("data", {"--labels", at("classes.csv")}), 3, "'file' and 'class'");
  EXPECT_FALSE(fs::exists(dir / "data"));
  write_text_file(dir / "bad.onnx", "no network");
  run_error({"extract", "--images", at("photos"), "--backbone", at("bad.onnx"), "--out", at("data")}, 3,
            "expected an ONNX network");
  EXPECT_FALSE(fs::exists(dir / "data"));
}

TEST_F(ExtractCommand, TheMemoryOfTheNetworkIsCountedBeforeItIsOpened) {
#ifdef PARSNETS_SANITIZED
  GTEST_SKIP() << "sanitizers need memory of their own";
#endif
  write_text_file(dir / "network.onnx", onnx_of_pixels(4, 4) + std::string(60'000'000, '\0'));  // damaged, too
  run_error(words("data", {"--memory-limit", "250MB", "--max-pixels", "1000", "--threads", "1"}), 2,
            "decoding photographs and the network");
  run_error(words("data", {"--memory-limit", "500MB", "--max-pixels", "1000", "--threads", "1"}), 3, "network.onnx");
}

TEST_F(ExtractCommand, FilesAndLabelsFromATable) {
  write_text_file(dir / "labels.csv", "file,class\nbear/0.bmp,cat\nbear/3.bmp,frog\n");
  const auto some = run_ok({"extract", "--images", at("photos/bear"), "--labels", at("labels.csv"), "--backbone",
                            at("network.onnx"), "--out", at("some")});
  EXPECT_TRUE(has(some.out, "left out because the labels do not name them: 2 images ('6.bmp', '9.bmp')"));
  write_text_file(dir / "labels.csv", "file,class\n0.bmp,cat\n3.bmp,frog\n6.bmp,cat\n9.bmp,frog\n");
  run_ok({"extract", "--images", at("photos/bear"), "--labels", at("labels.csv"), "--backbone", at("network.onnx"),
          "--attributes", at("classes.csv"), "--out", at("data")});
  const auto loaded = load_dataset(dir / "data", {.require_split = false});
  EXPECT_EQ(loaded.labels, (std::vector<std::int32_t>{2, 3, 2, 3}));
  const auto files_alone = run_cli({"extract", "--images", at("photos/bear/0.bmp") + "," + at("photos/deer/1.bmp"),
                                    "--backbone", at("network.onnx"), "--out", at("two")});
  EXPECT_TRUE(has_all(files_alone.out, {"2 photographs x 48 features, no classes",
                                        "the photographs have no classes; to classify them: parsnets predict"}));
  write_photo(dir / "a, b.bmp", 1);
  run_ok({"extract", "--images", at("photos/bear/0.bmp"), at("photos/deer/1.bmp"), at("a, b.bmp"), "--backbone",
          at("network.onnx"), "--out", at("three")});
  EXPECT_EQ(
      read_text_file(dir / "three/image_files.csv"),
      "image_file\n\"" + at("a, b.bmp") + "\"\n" + at("photos/bear/0.bmp") + "\n" + at("photos/deer/1.bmp") + "\n");
}

TEST(ExtractCommandWithoutModule, SaysWhatToInstall) {
  TempDir dir;  // a copy of the tool, alone
  fs::copy_file(PARSNETS_BINARY, dir / "parsnets");
  write_photo(dir / "photos/a/1.bmp", 1);
  write_text_file(dir / "network.onnx", onnx_of_pixels());
  const std::string line = dir.file("parsnets") + " extract --images " + dir.file("photos") + " --backbone " +
                           dir.file("network.onnx") + " --out " + dir.file("data") + " 2> " + dir.file("err");
  EXPECT_EQ(exit_code_of(std::system(line.c_str())), 2);
  EXPECT_TRUE(has_all(read_text_file(dir / "err"), {"libopencv-dnn-dev", "libopencv-imgcodecs-dev", "make photos"}));
  write_text_file(dir / "parsnets-backbones.so", "no module");  // as one whose libraries are gone
  ASSERT_EQ(std::system((dir.file("parsnets") + " doctor > " + dir.file("out")).c_str()), 0);
  EXPECT_TRUE(has(read_text_file(dir / "out"), "problem: the module for photographs does not load: "));
  Dl_info library;  // any that is no module
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(&::zlibVersion), &library), 0);
  fs::copy_file(library.dli_fname, dir / "parsnets-backbones.so", fs::copy_options::overwrite_existing);
  const std::string doctor = dir.file("parsnets") + " doctor > " + dir.file("out") + " 2> " + dir.file("err");
  EXPECT_EQ(exit_code_of(std::system(doctor.c_str())), 1);
  EXPECT_TRUE(has(read_text_file(dir / "err"), "it is of another build"));
}

class CliModules : public testing::Test {
#ifdef PARSNETS_SANITIZED
  void SetUp() override { GTEST_SKIP() << "sanitizers find their stack in /proc"; }
#endif
};

TEST_F(CliModules, WithoutProcTheCurrentFolderIsNotSearched) {
  TempDir dir;
  fs::create_directory(dir / "lib");
  write_text_file(dir / "parsnets-backbones.so", "would be loaded");
  const std::string line = "cd " + dir.file("") + " && unshare -rm sh -c 'mount -t tmpfs none /proc || exit 77; exec " +
                           std::string(PARSNETS_BINARY) + " doctor' > " + dir.file("out") + " 2>&1";
  const int code = exit_code_of(std::system(line.c_str()));
  const std::string said = read_text_file(dir / "out");
  if (code == 77 || has(said, "unshare:")) GTEST_SKIP() << "no name space of our own: " << said;
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(has(said, "no /proc that says where the tool is"));
}

TEST_F(CliModules, WithoutProcNoProgramOfTheCurrentFolderReadsMatFiles) {
  TempDir dir;
  write_text_file(dir / "parsnets-decode", "#!/bin/sh\ntouch started\n");
  fs::permissions(dir / "parsnets-decode", fs::perms::owner_all);
  write_text_file(dir / "x.mat", "any");
  const std::string line = "cd " + dir.file("") + " && unshare -rm sh -c 'mount -t tmpfs none /proc || exit 77; exec " +
                           std::string(PARSNETS_BINARY) + " info x.mat' > " + dir.file("out") + " 2>&1";
  const int code = exit_code_of(std::system(line.c_str()));
  const std::string said = read_text_file(dir / "out");
  if (code == 77 || has(said, "unshare:")) GTEST_SKIP() << "no name space of our own: " << said;
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(has(said, "no /proc that says where this program is"));
  EXPECT_FALSE(fs::exists(dir / "started"));
}

}  // namespace parsnets::test
