#include "base/file.hpp"
#include "capi/handles.hpp"
#include "capi/small_handles.hpp"
#include "report/report.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

struct Runs : SmallModel {
  parsnets_report_run run{sizeof run, "ridge", model.get(), nullptr, nullptr, 0};
  const parsnets_report_run* list[1] = {&run};
  TempDir dir;
  std::string file = (dir / "page.html").string();

  parsnets_status write(const parsnets_report_options* options = nullptr, const parsnets_dataset* other = nullptr) {
    return parsnets_report(list, 1, other == nullptr ? data.get() : other, options, 1, nullptr, nullptr, file.c_str());
  }
};

}  // namespace

TEST(CApiReport, ThePageIsThatOfCpp) {
  Runs r;
  parsnets_report_options options = PARSNETS_REPORT_OPTIONS_INIT;
  options.points = 100;
  options.explanations = 3;
  ASSERT_OK(r.write(&options));
  ASSERT_OK(parsnets_model_save(r.model.get(), (r.dir / "m").c_str()));
  const Model model = load_model(r.dir / "m");
  EXPECT_EQ(model_file_bytes(model), std::filesystem::file_size(r.dir / "m"));
  ThreadPool pool(2);
  ReportOptions same;
  same.points = 100;
  same.explanations = 3;
  EXPECT_TRUE(same_bytes(read_text_file(r.file),
                         report_page(report_data({{"ridge", &model, &r.data->data, "", {}}}, {}, same, pool))));
}

TEST(CApiReport, ImpossibleRequestsAreRefusedAndLeaveNoFile) {
  Runs r;
  parsnets_report_options options = PARSNETS_REPORT_OPTIONS_INIT;
  options.points = 9;
  EXPECT_EQ(r.write(&options), PARSNETS_USAGE);
  SmallArrays other(4);
  other.test.assign(other.test.size(), 0);
  for (std::size_t i = 0; i < 60; ++i) other.test[i] = 1;
  EXPECT_EQ(r.write(nullptr, other.handle().get()), PARSNETS_BAD_INPUT) << "trained on other data";
  for (const char* run_json : {"not JSON", "[]", "5", "null"}) {
    r.run.run_json = run_json;
    EXPECT_EQ(r.write(), PARSNETS_BAD_INPUT) << run_json;
    EXPECT_TRUE(last_error_has("run_json of run 'ridge'"));
  }
  r.run.run_json = nullptr;
  const char* bench = "no such file";
  r.run.benches = &bench;
  r.run.bench_count = 1;
  EXPECT_EQ(r.write(), PARSNETS_BAD_INPUT);
  EXPECT_FALSE(std::filesystem::exists(r.file));
}

}  // namespace parsnets::test
