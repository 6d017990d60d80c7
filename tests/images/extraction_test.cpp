#include "images/extraction.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "csv_table.hpp"
#include "data/feature_source.hpp"
#include "expect.hpp"
#include "formats/csv.hpp"
#include "formats/npy.hpp"
#include "images/bmp_photos.hpp"
#include "images/features_of_image.hpp"
#include "parsnets/dataset.hpp"
#include "temp_dir.hpp"

namespace parsnets::test {

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// Cancels when so many photographs are done.
class CancelAfter final : public ProgressObserver {
 public:
  explicit CancelAfter(std::uint64_t photographs) : photographs_(photographs) {}
  bool on_progress(const ProgressEvent& event) override { return event.done < photographs_; }

 private:
  std::uint64_t photographs_;
};

/// Fails from the fifth photograph on, with one of the problems of a backbone.
class FailsAfterFour final : public Backbone {
 public:
  enum class In { prepare, run };
  FailsAfterFour(In in, std::string problem) : in_(in), problem_(std::move(problem)) {}

  std::size_t dimensions() const override { return backbone_.dimensions(); }
  std::string layer() const override { return backbone_.layer(); }
  std::string engine() const override { return backbone_.engine(); }
  std::string prepare(std::span<const std::byte> image, std::span<float> input) const override {
    return in_ == In::run || count_++ < 4 ? backbone_.prepare(image, input) : problem_;
  }
  std::string run(std::span<const float> inputs, std::size_t n, std::span<float> features) override {
    return in_ == In::prepare || count_++ < 4 ? backbone_.run(inputs, n, features) : problem_;
  }

 private:
  BmpBackbone backbone_;
  In in_;
  std::string problem_;
  mutable std::atomic<int> count_ = 0;
};

/// Two classes of photographs, `cat` described but without any.
class ExtractionTest : public testing::Test {
 protected:
  ExtractionTest() {
    for (unsigned i = 0; i < 9; ++i) write_photo(dir_ / "photos" / (i % 3 == 0 ? "bear" : "deer") / name(i), i);
    write_text_file(dir_ / "classes.csv", "class,furry,horns\ndeer,1,1\ncat,1,0\nbear,,0\n");
    options_.attributes = dir_ / "classes.csv";
  }

  static std::string name(unsigned i) { return std::to_string(i) + ".bmp"; }

  /// By `backbone_`, unless another one is given.
  Extraction extract(const std::string& out, ProgressObserver* progress = nullptr, unsigned threads = 2,
                     Backbone* other = nullptr) {
    ThreadPool pool(threads);
    return extract_features(other != nullptr ? *other : backbone_, source_of_bmp_backbone(),
                            list_images({dir_ / "photos"}), dir_ / out, options_, pool, progress);
  }
  std::string message_of(const std::string& out, ErrorCode code) {
    return error_message([&] { extract(out); }, code);
  }
  Dataset loaded(const std::string& out) { return load_dataset(dir_ / out, {.require_split = false}); }
  std::map<std::string, std::string> files(const std::string& out) {
    std::map<std::string, std::string> contents;
    for (const auto& entry : fs::directory_iterator(dir_ / out))
      contents[entry.path().filename().string()] = read_text_file(entry.path());
    return contents;
  }

  TempDir dir_;
  ExtractionOptions options_;
  BmpBackbone backbone_;
};

using namespace std::string_literals;

std::vector<float> row(float value) { return std::vector<float>(12, value); }

std::string sum(char digit) { return std::string(64, digit); }

struct Messages final : ProgressObserver {
  bool on_progress(const ProgressEvent&) override { return true; }
  void on_message(std::string_view message) override { text += message; }
  std::string text;
};

class PartialFeaturesTest : public testing::Test {
 protected:
  /// With the features of three photographs.
  void write_three() {
    PartialFeatures partial(file_, false, source_, nullptr);
    partial.append(sum('a'), row(1));
    partial.append(sum('b'), row(2));
    partial.append(sum('c'), row(3));
  }
  void expect_refused(ErrorCode code, ProgressObserver* progress = nullptr) {
    error_message([&] { PartialFeatures(file_, false, source_, progress); }, code);
  }

  TempDir dir_;
  fs::path out_ = dir_ / "out", file_ = out_ / "extraction.partial";
  FeatureSource source_ = source_of_bmp_backbone();
};

}  // namespace

TEST_F(ExtractionTest, WritesADataSetThatLoads) {
  const Extraction done = extract("out");
  EXPECT_EQ(done.images, 9u);
  EXPECT_EQ(done.continued, 0u);
  EXPECT_EQ(done.classes, (Names{"deer", "cat", "bear"}));
  EXPECT_TRUE(done.unreadable.empty() && done.classes_without_images.empty());
  const Dataset data = loaded("out");
  EXPECT_EQ(data.class_names, (Names{"deer", "cat", "bear"})) << "classes without photographs stay";
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{2, 2, 2, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(data.image_files.front(), "bear/0.bmp");
  EXPECT_EQ(data.image_files.back(), "deer/8.bmp");
  ASSERT_TRUE(data.source);
  EXPECT_EQ(*data.source, source_of_bmp_backbone());
  for (std::size_t i = 0; i < data.samples(); ++i) {
    const auto alone = features_of_image(backbone_, BmpBackbone::kInput,
                                         read_image_file(dir_ / "photos" / data.image_files[i]), "photo");
    EXPECT_TRUE(std::ranges::equal(alone, data.features.row(i))) << i;
  }
  EXPECT_EQ(files("out").at("attributes.csv"), read_text_file(dir_ / "classes.csv")) << "empty cells stay empty";
}

TEST_F(ExtractionTest, ThreadsDoNotMatter) {
  extract("a");
  extract("b", nullptr, 1);
  EXPECT_EQ(files("a"), files("b"));
}

TEST_F(ExtractionTest, ACancelledOneGoesOnAndEndsWithTheSameBytes) {
  extract("whole");
  const std::size_t runs = backbone_.runs;
  CancelAfter four(4);
  EXPECT_MENTIONS(error_message([&] { extract("out", &four, 1); }, ErrorCode::cancelled), "4 photographs");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "out"), {}), 1) << "the partial file alone";
  const Extraction done = extract("out");
  EXPECT_EQ(done.continued, 4u);
  EXPECT_EQ(backbone_.runs, 2 * runs);
  EXPECT_EQ(files("out"), files("whole"));
}

TEST_F(ExtractionTest, OtherPhotographsOfTheSameNameSizeAndTimeAreReadAgain) {
  CancelAfter four(4);
  EXPECT_THROW(extract("out", &four, 1), Error);
  const fs::path changed = dir_ / "photos/bear/0.bmp";
  const auto time = fs::last_write_time(changed);
  write_photo(changed, 77);
  fs::last_write_time(changed, time);
  EXPECT_EQ(extract("out").continued, 3u);
  extract("whole");
  EXPECT_EQ(files("out"), files("whole"));
}

TEST_F(ExtractionTest, CancelledAtOnceLeavesNothing) {
  CancelAfter none(0);
  EXPECT_THROW(extract("out", &none), Error);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST_F(ExtractionTest, FeaturesComeAfterWhatTellsTheirOriginAndAreNotReadBeforeAllIsDone) {
  extract("whole");
  CancelAfter two(2);
  EXPECT_THROW(extract("out", &two, 1), Error);
  fs::create_directories(dir_ / "out/features.npy/in-the-way");  // the run ends where the features would be written
  EXPECT_THROW(extract("out"), Error);
  for (const char* name : {"extraction.json", "labels.npy", "image_files.csv", "attributes.csv", "extraction.partial"})
    EXPECT_TRUE(fs::exists(dir_ / "out" / name)) << name;
  fs::remove_all(dir_ / "out/features.npy");
  extract("out");
  EXPECT_EQ(files("out"), files("whole"));
  write_text_file(dir_ / "out/extraction.partial", "left by a run that was killed");
  EXPECT_MENTIONS(error_message([&] { loaded("out"); }), "an extraction that was interrupted");
}

TEST_F(ExtractionTest, UnreadableImagesAreLeftOutAndNamed) {
  write_text_file(dir_ / "photos/bear/1.bmp", "BM, but no more");
  write_text_file(dir_ / "photos/bear/2.png", "a text");
  fs::create_directories(dir_ / "photos/cat");
  write_text_file(dir_ / "photos/cat/only.bmp", bmp_photo(8, 6, 1).substr(0, 100));
  fs::create_symlink(dir_ / "nowhere", dir_ / "photos/deer/gone.bmp");
  fs::create_directories(dir_ / "photos/nothing");
  const Extraction done = extract("out");
  EXPECT_EQ(done.images, 9u);
  ASSERT_EQ(done.unreadable.size(), 3u) << "a link to nothing is no file";
  EXPECT_MENTIONS(done.unreadable[0], "bear/1.bmp: a damaged header");
  EXPECT_MENTIONS(done.unreadable[1], "bear/2.png: another kind of file");
  EXPECT_MENTIONS(done.unreadable[2], "cat/only.bmp: the file ends early");
  EXPECT_EQ(done.classes_without_images, (Names{"cat", "nothing"}));
}

TEST_F(ExtractionTest, NoReadableImageIsAnError) {
  fs::remove_all(dir_ / "photos");
  fs::create_directories(dir_ / "photos/bear");
  write_text_file(dir_ / "photos/bear/1.bmp", "x");
  EXPECT_MENTIONS(message_of("out", ErrorCode::bad_input),
                  "photos/bear/1.bmp: expected a JPEG, PNG, WebP or BMP image");
  EXPECT_FALSE(fs::exists(dir_ / "out"));
}

TEST_F(ExtractionTest, EqualImagesHaveEqualRows) {
  write_photo(dir_ / "photos/deer/zz.bmp", 1);
  write_photo(dir_ / "photos/bear/00.bmp", 1);
  extract("out");
  const Matrix<float> features = read_npy_float({dir_ / "out/features.npy", ""});
  const auto names = test::table_of(read_csv(dir_ / "out/image_files.csv", true)).rows;
  std::vector<std::size_t> equal;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i][0] == "deer/1.bmp" || names[i][0] == "deer/zz.bmp" || names[i][0] == "bear/00.bmp") equal.push_back(i);
  ASSERT_EQ(equal.size(), 3u);
  for (const std::size_t i : equal) EXPECT_TRUE(std::ranges::equal(features.row(i), features.row(equal[0])));
}

TEST_F(ExtractionTest, AttributesAreCheckedBeforeTheWork) {
  write_text_file(dir_ / "classes.csv", "class,furry\ndeers,1\nbear,1\n");
  EXPECT_MENTIONS(message_of("out", ErrorCode::bad_input),
                  "none for 'deer'; add the rows, or name the classes as the table does; did you mean 'deers'?");
  EXPECT_EQ(backbone_.runs, 0u);
  EXPECT_FALSE(fs::exists(dir_ / "out"));
  write_text_file(dir_ / "classes.csv", "class,furry\ndeer,x\nbear,1\n");
  EXPECT_MENTIONS(message_of("out", ErrorCode::bad_input), "'x'");
}

TEST_F(ExtractionTest, WithoutAttributesTheyCanBeAddedLater) {
  options_.attributes.clear();
  const Extraction done = extract("out");
  EXPECT_FALSE(done.has_attributes);
  fs::copy_file(dir_ / "classes.csv", dir_ / "out/attributes.csv");
  EXPECT_EQ(loaded("out").labels, (std::vector<std::int32_t>{2, 2, 2, 0, 0, 0, 0, 0, 0}));
  // names that would be read as numbers of classes
  fs::rename(dir_ / "photos/deer", dir_ / "photos/12");
  EXPECT_MENTIONS(message_of("other", ErrorCode::bad_input), "'12'");
  fs::rename(dir_ / "photos/12", dir_ / "photos/nan");
  EXPECT_MENTIONS(message_of("other", ErrorCode::bad_input), "photos/nan/1.bmp: class");
}

TEST_F(ExtractionTest, AttributesAddedWhenItGoesOnReplaceTheLabels) {
  CancelAfter two(2);
  EXPECT_THROW(extract("out", &two, 1), Error);
  fs::create_directories(dir_ / "out/features.npy/in-the-way");  // runs end where the features would be written
  for (const bool with_table : {false, true, false}) {
    options_.attributes = with_table ? dir_ / "classes.csv" : fs::path();
    fs::remove(dir_ / "out/attributes.csv");
    EXPECT_MENTIONS(message_of("out", ErrorCode::failure), "the same command goes on");
    EXPECT_EQ(fs::exists(dir_ / "out/labels.npy"), with_table);
    EXPECT_EQ(fs::exists(dir_ / "out/labels.csv"), !with_table);
  }
  fs::remove_all(dir_ / "out/features.npy");
  options_.attributes = dir_ / "classes.csv";
  extract("out");
  extract("whole");
  EXPECT_EQ(files("out"), files("whole"));
}

TEST_F(ExtractionTest, AttributesInTheFolderAreUsed) {
  fs::create_directories(dir_ / "out");
  fs::copy_file(dir_ / "classes.csv", dir_ / "out/attributes.csv");
  options_.attributes.clear();
  EXPECT_TRUE(extract("out").has_attributes);
  EXPECT_TRUE(fs::exists(dir_ / "out/labels.npy"));
  fs::create_directories(dir_ / "second");
  write_text_file(dir_ / "second/attributes.csv", "class,x\nbear,1\ndeer,2\n");
  options_.attributes = dir_ / "classes.csv";
  message_of("second", ErrorCode::usage);
  EXPECT_EQ(read_text_file(dir_ / "second/attributes.csv"), "class,x\nbear,1\ndeer,2\n");
}

TEST_F(ExtractionTest, ImagesWithoutClasses) {
  fs::rename(dir_ / "photos", dir_ / "all");
  fs::rename(dir_ / "all/deer", dir_ / "photos");
  options_.attributes.clear();
  const Extraction done = extract("out");
  EXPECT_FALSE(done.has_labels);
  EXPECT_EQ(files("out").size(), 3u) << "features.npy, image_files.csv, extraction.json";
}

TEST_F(ExtractionTest, AShortageOfMemoryAndAFailedNetworkStopItAndKeepWhatIsDone) {
  using In = FailsAfterFour::In;
  extract("whole");
  for (const auto& [in, problem, expected] :
       {std::tuple{In::prepare, kNotEnoughMemory, "not enough memory to decode 8 x 6 pixels"},
        std::tuple{In::run, kNotEnoughMemory, "not enough memory to run the network"},
        std::tuple{In::run, "an operator failed", "the network failed: an operator failed"}}) {
    FailsAfterFour failing(in, problem);
    const std::string message = error_message([&] { extract("out", nullptr, 2, &failing); }, ErrorCode::failure);
    for (const char* part : {expected, ".bmp", "4 photographs", "the same command goes on"})
      EXPECT_MENTIONS(message, part);
    EXPECT_EQ(extract("out").continued, 4u);
    EXPECT_EQ(files("out"), files("whole"));
    fs::remove_all(dir_ / "out");
  }
}

TEST_F(ExtractionTest, FeaturesThatAreNotFiniteLeaveAPhotographOut) {
  FailsAfterFour failing(FailsAfterFour::In::run, kNotFinite);
  const Extraction done = extract("out", nullptr, 1, &failing);
  EXPECT_EQ(done.images, 4u);
  ASSERT_EQ(done.unreadable.size(), 5u);
  EXPECT_EQ(done.unreadable[0], "deer/2.bmp: the network's output has values that are not finite");
}

TEST_F(ExtractionTest, AMemoryLimitIsKeptOrRefused) {
  options_.memory_limit = held_memory() + 50'000'000;
  EXPECT_MENTIONS(message_of("out", ErrorCode::usage), "max-pixels");
  EXPECT_EQ(backbone_.runs, 0u);
  options_.limits = {1'000'000, 100'000};
  EXPECT_EQ(extract("out").images, 9u);
}

TEST_F(PartialFeaturesTest, ContinueWhereTheyEnded) {
  write_three();
  source_.backbone = "another-name.onnx";
  PartialFeatures partial(file_, false, source_, nullptr);
  EXPECT_EQ(partial.size(), 3u);
  EXPECT_TRUE(partial.has(sum('b')) && partial.had(sum('b')));
  EXPECT_FALSE(partial.has(sum('d')));
  std::vector<float> values(12);
  partial.read(sum('c'), values);
  EXPECT_EQ(values, row(3));
  partial.append(sum('d'), row(5));
  EXPECT_TRUE(partial.has(sum('d')) && !partial.had(sum('d')));
  partial.read(sum('d'), values);
  EXPECT_EQ(values, row(5));
}

TEST_F(PartialFeaturesTest, AStoreStaysWithItsFeatures) {
  const fs::path store = dir_ / "cache/store";
  {
    PartialFeatures partial(store, true, source_, nullptr);
    partial.append(sum('a'), row(1));
    partial.finish();
  }
  PartialFeatures partial(store, true, source_, nullptr);
  EXPECT_TRUE(partial.had(sum('a')));
}

TEST_F(PartialFeaturesTest, DamageAtAnyByteCostsAtMostWhatFollows) {
  write_three();
  const std::string whole = read_text_file(file_);
  const std::size_t header = whole.find('\n', whole.find('\n') + 1) + 1, record = (whole.size() - header) / 3;
  for (std::size_t at = header; at < whole.size(); ++at)
    for (const bool cut : {true, false}) {
      std::string damaged = cut ? whole.substr(0, at) : whole;
      if (!cut) damaged[at] ^= 4;
      std::ofstream(file_, std::ios::binary) << damaged;
      Messages messages;
      PartialFeatures partial(file_, false, source_, &messages);
      ASSERT_EQ(partial.size(), (at - header) / record) << at << cut;
      if (!cut || (at - header) % record != 0) {
        EXPECT_MENTIONS(messages.text, "damaged") << at;
      }
    }
}

TEST_F(PartialFeaturesTest, OfAnotherNetworkOrDamagedAreRefused) {
  write_three();
  const std::string whole = read_text_file(file_);
  source_.sha256 = sum('b');
  expect_refused(ErrorCode::bad_input);
  source_ = source_of_bmp_backbone();
  source_.input.fit = ImageFit::centre;
  expect_refused(ErrorCode::bad_input);
  source_ = source_of_bmp_backbone();
  EXPECT_EQ(read_text_file(file_), whole) << "it stays as it was";
  write_text_file(file_, "something else");
  expect_refused(ErrorCode::bad_input);
  EXPECT_EQ(read_text_file(file_), "something else");
  write_text_file(file_, whole.substr(0, 40));  // interrupted before the first photograph
  PartialFeatures partial(file_, false, source_, nullptr);
  EXPECT_EQ(partial.size(), 0u);
}

TEST_F(PartialFeaturesTest, NeedARegularFile) {
  fs::create_directories(out_);
  fs::create_symlink("/dev/null", file_);
  expect_refused(ErrorCode::bad_input);
  EXPECT_TRUE(fs::is_symlink(file_));
}

TEST_F(PartialFeaturesTest, AFolderWithADataSetIsLeftAlone) {
  for (const char* name : {"features.npy", "features.csv", "labels.npz", "image_files.csv", "split.json", "att.mat"}) {
    SCOPED_TRACE(name);
    fs::remove_all(out_);
    fs::create_directories(out_);
    write_text_file(out_ / name, "x");
    expect_refused(ErrorCode::usage);
    EXPECT_EQ(std::distance(fs::directory_iterator(out_), {}), 1);
  }
}

TEST_F(PartialFeaturesTest, NothingIsLeftOfAnEmptyOne) {
  for (const char* folder : {"out", "new/deeper/out", "new/deeper/out/"}) {
    { PartialFeatures partial(dir_ / folder / kPartialExtractionFile, false, source_, nullptr); }
    EXPECT_TRUE(fs::is_empty(dir_.path())) << folder;
  }
  fs::create_directories(dir_ / "mine");
  { PartialFeatures partial(dir_ / "mine/out/extraction.partial", false, source_, nullptr); }
  EXPECT_TRUE(fs::is_empty(dir_ / "mine")) << "a folder that was there stays";
  {
    PartialFeatures partial(dir_ / "new/out/extraction.partial", false, source_, nullptr);
    write_text_file(dir_ / "new/other", "of another process");
  }
  EXPECT_TRUE(fs::exists(dir_ / "new/other"));
  EXPECT_FALSE(fs::exists(dir_ / "new/out"));
}

TEST_F(PartialFeaturesTest, ADataSetThatWasCompletedBeforeTheFileWasHeldIsLeftAlone) {
  fs::create_directories(out_);
  for (const std::string& begun : {""s, "parsnets extr"s}) {  // one process looked, another wrote, the first began
    write_text_file(dir_ / "out/features.npy", "complete");
    write_text_file(file_, begun);
    expect_refused(ErrorCode::usage);
    EXPECT_FALSE(fs::exists(file_));
    EXPECT_EQ(read_text_file(dir_ / "out/features.npy"), "complete");
  }
}

TEST_F(PartialFeaturesTest, AnotherThatWaitedFindsTheDataSet) {
  auto first = std::make_unique<PartialFeatures>(file_, false, source_, nullptr);
  first->append(sum('a'), row(1));
  struct Waiting : ProgressObserver {
    bool on_progress(const ProgressEvent&) override { return true; }
    void on_message(std::string_view message) override {
      if (message.starts_with("waiting for another process")) told.set_value();
    }
    std::promise<void> told;
  } waiting;
  std::thread second([&] { expect_refused(ErrorCode::usage, &waiting); });
  waiting.told.get_future().wait();
  write_text_file(dir_ / "out/features.npy", "complete");
  first->finish();
  first.reset();
  second.join();
  EXPECT_EQ(read_text_file(dir_ / "out/features.npy"), "complete");
}

}  // namespace parsnets::test
