// The data commands, run as a user would.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "same_bytes.hpp"
#include "shared_data.hpp"

namespace parsnets::test {

TEST(CliData, InspectReportsCubAsItIs) {
  const auto folder = shared_data("CUB");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  const auto json = run_cli({"data", "inspect", *folder, "--features", "res50", "--json"}).json();
  EXPECT_EQ(json["samples"], 11788);
  EXPECT_EQ(json["dimensions"], 2048);
  EXPECT_EQ(json["attributes"], 312);
  EXPECT_EQ(json["seen_classes"], 150);
  EXPECT_EQ(json["unseen_classes"], 50);
  const auto& split = json["split"];
  EXPECT_EQ(split["lists"]["trainval"]["samples"], 7057);
  EXPECT_EQ(split["lists"]["test_seen"]["samples"], 1764);
  EXPECT_EQ(split["lists"]["test_unseen"]["samples"], 2967);
  EXPECT_EQ(split["lists"]["trainval"]["crc32"], "3010ffca");
  EXPECT_EQ(split["test_seen_in_train_loc"], 1173);
  EXPECT_EQ(split["test_seen_in_val_loc"], 591);
  EXPECT_EQ(json["known_as"], "CUB");
}

TEST(CliData, InspectReportsAwaHandmadeWithItsMissingValues) {
  const auto folder = shared_data("AWA1-handmade");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  const auto json = run_cli({"data", "inspect", *folder, "--json"}).json();
  EXPECT_EQ(json["samples"], 30475);
  EXPECT_EQ(json["dimensions"], 1024);
  EXPECT_EQ(json["seen_classes"], 40);
  EXPECT_EQ(json["unseen_classes"], 10);
  EXPECT_EQ(json["missing_attribute_values"], 4);
}

TEST(CliData, SplitMakesAnInspectableSplitAndNeverReplacesOneUnasked) {
  TempDir dir;
  const std::string folder = dir.path().string();
  ASSERT_EQ(run_cli({"data", "synth", folder, "--classes", "10", "--samples", "200", "--dimensions", "8"}).exit_code,
            0);
  const std::string before = read_text_file(dir / "split.json");
  EXPECT_EQ(run_cli({"data", "split", folder}).exit_code, 2);
  EXPECT_TRUE(same_bytes(read_text_file(dir / "split.json"), before));
  std::filesystem::remove(dir / "split.json");
  EXPECT_EQ(run_cli({"data", "split", folder, "--unseen", "3", "--seed", "4"}).exit_code, 0);
  const std::string made = read_text_file(dir / "split.json");
  EXPECT_EQ(run_cli({"data", "inspect", folder, "--json"}).json()["unseen_classes"], 3);
  EXPECT_EQ(run_cli({"data", "split", folder, "--unseen", "3", "--seed", "4", "--force"}).exit_code, 0);
  EXPECT_TRUE(same_bytes(read_text_file(dir / "split.json"), made));
  EXPECT_EQ(run_cli({"data", "split", folder, "--unseen", "class001,class005", "--force"}).exit_code, 0);
  EXPECT_EQ(run_cli({"data", "inspect", folder, "--json"}).json()["unseen_classes"], 2);
  EXPECT_EQ(run_cli({"data", "split", folder, "--unseen", "class001,unicorn", "--force"}).exit_code, 2);
}

TEST(CliData, NamesWithCommasAreGivenInQuotes) {
  TempDir dir;
  const std::string folder = dir.path().string(), model = (dir / "m.safetensors").string();
  ASSERT_EQ(run_cli({"data", "synth", folder, "--classes", "10", "--samples", "200", "--dimensions", "8"}).exit_code,
            0);
  CsvTable table = read_csv(dir / "attributes.csv", true);
  table.rows[0][0] = "bear, brown";
  write_csv(dir / "attributes.csv", table);
  std::filesystem::remove(dir / "split.json");
  const std::string names = "\"bear, brown\",class002";
  const auto split = run_cli({"data", "split", folder, "--unseen", names});
  ASSERT_EQ(split.exit_code, 0) << split.err;
  EXPECT_EQ(run_cli({"data", "inspect", folder, "--json"}).json()["unseen_classes"], 2);
  ASSERT_EQ(run_cli({"train", "--data", folder, "--out", model, "--method", "ridge"}).exit_code, 0);
  const auto removed = run_cli({"classes", "remove", "--model", model, "--classes", names});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  const auto added =
      run_cli({"classes", "add", "--model", model, "--attributes", folder + "/attributes.csv", "--classes", names});
  EXPECT_EQ(added.exit_code, 0) << added.err;
}

TEST(CliData, ConversionDoesNotChangeWhatIsTrained) {
  TempDir dir;
  const std::string demo = (dir / "demo").string(), mat = (dir / "mat").string(), back = (dir / "back").string();
  std::filesystem::copy(std::string(PARSNETS_SOURCE_DIR) + "/data/demo", demo,
                        std::filesystem::copy_options::recursive);
  auto split = nlohmann::json::parse(read_text_file(demo + "/split.json"));
  split.erase("val_classes");
  write_text_file(demo + "/split.json", split.dump());
  save_xlsa17(load_dataset(demo), mat);
  ASSERT_EQ(run_cli({"data", "convert", mat, back, "--format", "npy"}).exit_code, 0);
  std::vector<std::string> results;
  for (const auto& folder : {demo, mat, back}) {
    const std::string model = folder + ".safetensors";
    const auto trained = run_cli({"train", "--data", folder, "--out", model, "--method", "ridge", "--json"});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
    const auto info = run_cli({"info", model, "--json"}).json();
    const auto predicted = run_cli({"predict", "--model", model, "--input", demo + "/features.npy", "--json"});
    results.push_back(fmt::format("{:.17g} {:.17g} {} {}", info["gamma"].get<double>(),
                                  info["temperature"].get<double>(), trained.json()["record"]["validation"].dump(),
                                  std::hash<std::string>{}(predicted.out)));
  }
  EXPECT_EQ(results[1], results[0]) << "as .mat files";
  EXPECT_EQ(results[2], results[0]) << "and back";
}

TEST(CliData, ConvertKeepsTheChecksumsOfEveryList) {
  TempDir dir;
  const std::string demo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo";
  auto lists = run_cli({"data", "inspect", demo, "--json"}).json()["split"]["lists"];
  for (const std::string format : {"mat5", "mat73", "npz", "csv"}) {
    const std::string from = (dir / format).string(), out = (dir / "out").string();
    save_as(load_dataset(demo), from, format);
    const auto result = run_cli({"data", "convert", from, out});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    auto converted = run_cli({"data", "inspect", out, "--json"}).json();
    for (const char* name : {"trainval", "test_seen", "test_unseen", "train", "val"})
      EXPECT_EQ(converted["split"]["lists"][name]["crc32"], lists[name]["crc32"]) << format << " " << name;
  }
}

TEST(CliData, AFailedConversionLeavesNothingHalfWritten) {
  TempDir dir;
  write_text_file(dir / "attributes.csv", "class,a\nx,1\ny,2\n");
  std::filesystem::create_directory(dir / "out");
  write_text_file(dir / "out" / "features.npy", "precious");
  EXPECT_EQ(run_cli({"data", "convert", (dir / "missing").string(), (dir / "out").string()}).exit_code, 3);
  EXPECT_TRUE(same_bytes(read_text_file(dir / "out" / "features.npy"), "precious"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "out"), {}), 1);
}

TEST(CliData, BadInputsAreRefusedWithAMessageThatNamesTheFault) {
  TempDir dir;
  const std::string script = std::string(PARSNETS_SOURCE_DIR) + "/tests/oracles/bad_inputs.py";
  if (std::system("/usr/bin/python3 -c 'import numpy, scipy, h5py' 2> /dev/null") != 0)
    GTEST_SKIP() << "PYTHON3 WITH NUMPY, SCIPY AND H5PY NOT FOUND";
  const auto corpus = dir / "corpus";
  ASSERT_EQ(std::system(("/usr/bin/python3 " + script + " " + corpus.string()).c_str()), 0);
  const auto manifest = nlohmann::json::parse(read_text_file(corpus / "manifest.json"));
  ASSERT_GE(manifest.size(), 40u);
  for (const auto& entry : manifest) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    if (entry.value("skip_if_root", false) && ::geteuid() == 0) continue;
    std::vector<std::string> arguments{"data", "inspect", (corpus / entry["path"].get<std::string>()).string()};
    for (const auto& a : entry["args"]) arguments.push_back(a);
      // 2 GB of address space is far above what any of these small files may ask for; sanitizers need more of it.
#ifdef PARSNETS_SANITIZED
    const auto result = run_cli(arguments);
#else
    const auto result = run_cli(arguments, "ulimit -v 2000000;");
#endif
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    for (const auto& part : entry["must_mention"])
      EXPECT_NE(result.err.find(part.get<std::string>()), std::string::npos) << part << " not in: " << result.err;
  }
}

}  // namespace parsnets::test
