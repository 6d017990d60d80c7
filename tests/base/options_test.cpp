#include "base/options.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "expect.hpp"

namespace parsnets {

namespace {

enum class Colour { red, blue };

struct Sample {
  int k = 40;
  double c = 0.5;
  bool fast = false;
  std::string name = "x";
  std::uint64_t limit = 0;
  Colour colour = Colour::red;

  OptionTable table() {
    OptionTable t;
    t.integer("k", k, 1, 200, "networks open per sample")
        .number("c", c, 0, 10, "box bound")
        .flag("fast", fast, "hurry")
        .text("name", name, "a name")
        .bytes("limit", limit, "memory")
        .choice("colour", colour, {{"red", Colour::red}, {"blue", Colour::blue}}, "a colour");
    return t;
  }
};

}  // namespace

TEST(Options, PrintedConfigReadsBackToTheSameValues) {
  Sample a{7, 0.1234567890123, true, "a name", 512000000, Colour::blue}, b;
  b.table().read_config(a.table().to_config(), "c");
  EXPECT_EQ(a.table().to_json(), b.table().to_json());
  EXPECT_EQ(b.c, a.c);
}

TEST(Options, EveryProblemOfAConfigFileIsReportedAtOnceWithItsLine) {
  Sample s;
  for (const char* part : {":1: k: expected an integer from 1 to 200, found '500'", ":3: unknown option 'nope'",
                           ":4: colour: expected one of: red, blue", ":5"})
    test::expect_error([&] { s.table().read_config("k = 500\n# fine\nnope = 1\ncolour = green\nk\n", "c"); }, part);
}

TEST(Options, ValuesOutOfRangeChangeNothing) {
  Sample s;
  auto table = s.table();
  for (const char* bad : {"0", "201", "1.5", "", "abc", "1e3", " 7"}) EXPECT_TRUE(table.find("k")->assign(bad)) << bad;
  for (const char* bad : {"nan", "-1", "11", "0x1", "1,5"}) EXPECT_TRUE(table.find("c")->assign(bad)) << bad;
  EXPECT_EQ(s.k, 40);
  EXPECT_EQ(s.c, 0.5);
}

TEST(Options, SharesTakePercentAndNumbersAndReadBackExactly) {
  double share = 0.05;
  std::optional<double> other;
  OptionTable table;
  table.share("share", share, "a share").share("other", other, "another");
  EXPECT_EQ(table.find("share")->default_text, "5%");
  double none = 0;
  table.share_or_none("none", none, "a share or none");
  EXPECT_EQ(table.find("none")->default_text, "0");
  EXPECT_FALSE(table.find("none")->assign("20%"));
  EXPECT_EQ(none, 0.2);
  EXPECT_FALSE(table.find("none")->assign("0"));
  EXPECT_EQ(none, 0);
  EXPECT_TRUE(table.find("none")->assign("100%"));
  EXPECT_EQ(table.find("other")->default_text, "auto");
  for (const char* bad : {"0", "1", "0%", "100%", "-5%", "101%", "5", "nan", "", "%", "5 percent"})
    EXPECT_TRUE(table.find("share")->assign(bad)) << bad;
  EXPECT_EQ(share, 0.05);
  for (const auto& [text, value] : {std::pair("90%", 0.9), {"0.9", 0.9}, {"2.5 %", 0.025}, {"0.07", 0.07}}) {
    EXPECT_FALSE(table.find("other")->assign(text));
    EXPECT_EQ(other, value) << text;
  }
  EXPECT_EQ(table.to_json()["other"], "7%");
  for (const double value : {0.07, 0.29, 1.0 / 3, 0.95, 1e-9, 0.9999999999999999}) {
    EXPECT_FALSE(table.find("share")->assign(format_share(value)));
    EXPECT_EQ(share, value) << format_share(value);
  }
}

TEST(Options, SomeTakeSeveralValues) {
  std::vector<std::string> files{"old"};
  OptionTable table;
  table.texts("files", files, "what is read");
  const Option& option = *table.find("files");
  option.assign_all({"a, b.jpg", "c.jpg"});
  EXPECT_EQ(files, (std::vector<std::string>{"a, b.jpg", "c.jpg"}));
  EXPECT_EQ(option.value(), "\"a, b.jpg\",c.jpg") << "which a list reads";
  EXPECT_FALSE(option.assign("d.jpg,e.jpg"));
  EXPECT_EQ(files, std::vector<std::string>{"d.jpg,e.jpg"}) << "as it is: a name may have a comma";
  EXPECT_FALSE(option.assign(""));
  EXPECT_TRUE(files.empty());
}

TEST(Options, SizesTakeUnits) {
  Sample s;
  auto table = s.table();
  EXPECT_FALSE(table.find("limit")->assign("512MB"));
  EXPECT_EQ(s.limit, 512000000u);
  EXPECT_FALSE(table.find("limit")->assign("1.5 GiB"));
  EXPECT_EQ(s.limit, 1610612736u);
  EXPECT_TRUE(table.find("limit")->assign("-1MB"));
  EXPECT_FALSE(table.find("limit")->assign("0"));
  EXPECT_EQ(format_bytes(96567296), "96.6 MB");
  EXPECT_EQ(format_bytes(999), "999 B");
}

TEST(Options, RowsBelongToTheGroupInWhichTheyAreAddedOrAppended) {
  int a = 0, b = 0, c = 0, d = 0;
  OptionTable inner, table;
  inner.integer("c", c, 0, 1, "").group("run").integer("d", d, 0, 1, "");
  table.integer("a", a, 0, 1, "").group("model").integer("b", b, 0, 1, "").advanced().append(inner);
  for (const auto& [name, group] : {std::pair("a", ""), {"b", "model"}, {"c", "model"}, {"d", "run"}})
    EXPECT_EQ(table.find(name)->group, group) << name;
  EXPECT_TRUE(table.find("b")->advanced);
  EXPECT_FALSE(table.find("a")->advanced || table.find("c")->advanced);
}

}  // namespace parsnets
