// The data commands, run as a user would.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "csv_table.hpp"
#include "formats/array_files.hpp"
#include "formats/csv.hpp"
#include "same_bytes.hpp"
#include "shared_data.hpp"

namespace parsnets::test {

using CliData = FolderTest;

TEST_F(CliData, InspectReportsCubAsItIs) {
  const auto folder = shared_data("CUB");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  const auto json = run_json({"data", "inspect", *folder, "--features", "res50"});
  EXPECT_TRUE(has_members(json, nlohmann::json::parse(R"({
    "known_as": "CUB", "samples": 11788, "dimensions": 2048, "attributes": 312, "seen_classes": 150,
    "unseen_classes": 50, "split": {"test_seen_in_train_loc": 1173, "test_seen_in_val_loc": 591, "lists": {
      "trainval": {"samples": 7057, "crc32": "3010ffca"}, "test_seen": {"samples": 1764},
      "test_unseen": {"samples": 2967}}}})")));
}

TEST_F(CliData, InspectReportsAwaHandmadeWithItsMissingValues) {
  const auto folder = shared_data("AWA1-handmade");
  if (!folder) GTEST_SKIP() << kNoSharedData;
  const auto json = run_json({"data", "inspect", *folder});
  EXPECT_TRUE(has_members(json, {{"samples", 30475},
                                 {"dimensions", 1024},
                                 {"seen_classes", 40},
                                 {"unseen_classes", 10},
                                 {"missing_attribute_values", 4}}));
}

TEST_F(CliData, SplitMakesAnInspectableSplitAndNeverReplacesOneUnasked) {
  const std::string folder = dir.path().string();
  run_ok({"data", "synth", folder, "--classes", "10", "--samples", "200", "--dimensions", "8"});
  const std::string before = read_text_file(dir / "split.json");
  run_error({"data", "split", folder}, 2);
  EXPECT_TRUE(same_bytes(read_text_file(dir / "split.json"), before));
  fs::remove(dir / "split.json");
  run_ok({"data", "split", folder, "--unseen", "3", "--seed", "4"});
  const std::string made = read_text_file(dir / "split.json");
  EXPECT_EQ(run_json({"data", "inspect", folder})["unseen_classes"], 3);
  run_ok({"data", "split", folder, "--unseen", "3", "--seed", "4", "--force"});
  EXPECT_TRUE(same_bytes(read_text_file(dir / "split.json"), made));
  run_ok({"data", "split", folder, "--unseen", "class001,class005", "--force"});
  EXPECT_EQ(run_json({"data", "inspect", folder})["unseen_classes"], 2);
  run_error({"data", "split", folder, "--unseen", "class001,unicorn", "--force"}, 2);
}

TEST_F(CliData, NamesWithCommasAreGivenInQuotes) {
  const std::string folder = dir.path().string(), model = dir.file("m.safetensors");
  run_ok({"data", "synth", folder, "--classes", "10", "--samples", "200", "--dimensions", "8"});
  CsvTable table = test::table_of(read_csv(dir / "attributes.csv", true));
  table.rows[0][0] = "bear, brown";
  write_csv(dir / "attributes.csv", table);
  fs::remove(dir / "split.json");
  const std::string names = "\"bear, brown\",class002";
  run_ok({"data", "split", folder, "--unseen", names});
  EXPECT_EQ(run_json({"data", "inspect", folder})["unseen_classes"], 2);
  run_ok({"train", "--data", folder, "--out", model, "--method", "ridge"});
  run_ok({"classes", "remove", "--model", model, "--classes", names});
  run_ok({"classes", "add", "--model", model, "--attributes", folder + "/attributes.csv", "--classes", names});
}

TEST_F(CliData, ConversionDoesNotChangeWhatIsTrained) {
  const std::string demo = dir.file("demo"), mat = dir.file("mat"), back = dir.file("back");
  fs::copy(kDemo, demo, kRecursive);
  auto split = json_in(demo + "/split.json");
  split.erase("val_classes");
  write_text_file(demo + "/split.json", split.dump());
  save_xlsa17(load_dataset(demo), mat);
  run_ok({"data", "convert", mat, back, "--format", "npy"});
  std::vector<std::string> results;
  for (const auto& folder : {demo, mat, back}) {
    const std::string model = folder + ".safetensors";
    const auto trained = run_ok({"train", "--data", folder, "--out", model, "--method", "ridge", "--json"});
    const auto info = run_json({"info", model});
    const auto predicted = run_cli({"predict", "--model", model, "--input", demo + "/features.npy", "--json"});
    results.push_back(fmt::format("{:.17g} {:.17g} {} {}", info["gamma"].get<double>(),
                                  info["temperature"].get<double>(), trained.json()["record"]["validation"].dump(),
                                  std::hash<std::string>{}(predicted.out)));
  }
  EXPECT_EQ(results[1], results[0]) << "as .mat files";
  EXPECT_EQ(results[2], results[0]) << "and back";
}

TEST_F(CliData, ConvertKeepsTheChecksumsOfEveryList) {
  auto lists = run_json({"data", "inspect", kDemo})["split"]["lists"];
  for (const std::string format : {"mat5", "mat73", "npz", "csv"}) {
    const std::string from = dir.file(format), out = dir.file("out");
    save_as(load_dataset(kDemo), from, format);
    run_ok({"data", "convert", from, out});
    auto converted = run_json({"data", "inspect", out});
    for (const char* name : {"trainval", "test_seen", "test_unseen", "train", "val"})
      EXPECT_EQ(converted["split"]["lists"][name]["crc32"], lists[name]["crc32"]) << format << " " << name;
  }
}

TEST_F(CliData, AFailedConversionLeavesNothingHalfWritten) {
  fs::create_directory(dir / "out");
  write_text_file(dir / "out" / "features.npy", "precious");
  run_error({"data", "convert", dir.file("missing"), dir.file("out")}, 3);
  EXPECT_TRUE(same_bytes(read_text_file(dir / "out" / "features.npy"), "precious"));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir / "out"), {}), 1);
}

TEST_F(CliData, BadInputsAreRefusedWithAMessageThatNamesTheFault) {
  const std::string script = std::string(PARSNETS_SOURCE_DIR) + "/tests/oracles/bad_inputs.py";
  if (std::system("/usr/bin/python3 -c 'import numpy, scipy, h5py' 2> /dev/null") != 0)
    GTEST_SKIP() << "PYTHON3 WITH NUMPY, SCIPY AND H5PY NOT FOUND";
  const auto corpus = dir / "corpus";
  ASSERT_EQ(std::system(("/usr/bin/python3 " + script + " " + corpus.string()).c_str()), 0);
  const auto manifest = json_in(corpus / "manifest.json");
  ASSERT_GE(manifest.size(), 40u);
  for (const auto& entry : manifest) {
    SCOPED_TRACE(entry["name"].get<std::string>());
    if (entry.value("skip_if_root", false) && ::geteuid() == 0) continue;
    Words arguments{"data", "inspect", (corpus / entry["path"].get<std::string>()).string()};
    for (const auto& a : entry["args"]) arguments.push_back(a);
      // 2 GB of address space is far above what any of these small files may ask for; sanitizers need more of it.
#ifdef PARSNETS_SANITIZED
    const auto result = run_cli(arguments);
#else
    const auto result = run_cli(arguments, "ulimit -v 2000000;");
#endif
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    for (const auto& part : entry["must_mention"])
      EXPECT_TRUE(has(result.err, part.get<std::string>())) << part << " not in: ";
  }
}

}  // namespace parsnets::test
