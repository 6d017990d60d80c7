#include "experiments/result_table.hpp"

#include <gtest/gtest.h>

#include "expect.hpp"

namespace parsnets::test {

namespace {

ResultTable small_table() {
  ResultTable table;
  table.name = "zsl";
  table.caption = "Accuracy in %.";
  table.row_heads = {"method"};
  table.columns = {{"CUB", "U"}, {"CUB", "H"}, {"", "s", 2, false}};
  table.rows = {{{"ridge_1"}, {{50.04, 0.2}, {40, {}}, {1.234, {}}}, RowSource::measured},
                {{"a|b & c"}, {{50.01, {}}, {41, {}}, {2, {}}}, RowSource::own},
                {{"best, of all"}, {{49.9, {}}, {}, {}}, RowSource::measured},
                {{"others"}, {{99, {}}, {99, {}}, {}}, RowSource::published}};
  table.notes = {"a note"};
  return table;
}

}  // namespace

TEST(ResultTable, MarkdownMarksTheBestTwoOfSeveralRowsThatCompeteByWhatIsPrinted) {
  ResultTable table = small_table();
  const std::string text = to_text(table, TableFormat::markdown);
  EXPECT_TRUE(contains(text, "| method | CUB U | CUB H | s |\n|---|---:|---:|---:|\n"));
  EXPECT_TRUE(contains(text, "| ridge_1 | **50.0 ± 0.2** | <ins>40.0</ins> | 1.23 |"));
  EXPECT_TRUE(contains(text, "| a/b & c (own row, not measured here) | **50.0** | **41.0** | 2.00 |"));
  EXPECT_TRUE(contains(text, "| best, of all | <ins>49.9</ins> | - | - |"));
  EXPECT_TRUE(contains(text, "| others (published) | 99.0 | 99.0 | - |"));
  table.rows = {table.rows[0], table.rows[3]};  // one of them competes
  EXPECT_FALSE(contains(to_text(table, TableFormat::markdown), "**"));
}

TEST(ResultTable, CsvKeepsNumbersAndSaysWhereTheyComeFrom) {
  EXPECT_EQ(to_text(small_table(), TableFormat::csv),
            "method,source,CUB U,CUB U sd,CUB H,CUB H sd,s,s sd\n"
            "ridge_1,measured,50.04,0.2,40,,1.234,\n"
            "a|b & c,own,50.01,,41,,2,\n"
            "\"best, of all\",measured,49.9,,,,,\n"
            "others,published,99,,99,,,\n");
}

TEST(ResultTable, LatexEscapesTextAndGroupsColumns) {
  const std::string text = to_text(small_table(), TableFormat::latex);
  for (const char* part :
       {"\\caption{Accuracy in \\%.}", "\\begin{tabular}{lrrr}", " & \\multicolumn{2}{c}{CUB}", "\\cmidrule(lr){2-3}",
        "method & U & H & s \\\\", "ridge\\_1 & \\textbf{50.0}", "$\\pm$\\,}0.2 & \\underline{40.0}",
        "a\\textbar{}b \\& c & \\textbf{50.0}", "\\emph{Own rows, not measured here}",
        "\\emph{Published, not measured here}", "\\bottomrule", "others & 99.0"})
    EXPECT_TRUE(contains(text, part));
}

TEST(ResultTable, LatexOfOneColumnPerDataSetHasOneLineOfHeadsAndNoRowThatIsAnArgumentOfTheRowBefore) {
  ResultTable table = small_table();
  table.columns = {{"CUB", ""}, {"SUN", ""}, {"demo_1", ""}};
  table.rows[2].heads[0] = "[12] Foo";
  for (const char* part : {"\\toprule\nmethod & CUB & SUN & demo\\_1 \\\\\n\\midrule", "\n{}[12] Foo &"})
    EXPECT_TRUE(contains(to_text(table, TableFormat::latex), part));
}

TEST(ResultTable, JsonComesBackAsItWas) {
  const auto json = to_json(small_table());
  const ResultTable again = result_table_from(nlohmann::json::parse(json.dump()), "t.json");
  EXPECT_EQ(to_json(again), json);
  for (const auto format : {TableFormat::markdown, TableFormat::csv, TableFormat::latex})
    EXPECT_EQ(to_text(again, format), to_text(small_table(), format));
}

TEST(ResultTable, JsonThatIsNoTableIsBadInputNamingTheFile) {
  nlohmann::json short_row = nlohmann::json::parse(to_json(small_table()).dump());
  short_row["rows"][1]["cells"].erase(0);
  for (const auto& bad : {nlohmann::json{{"name", 1}}, nlohmann::json::array(), short_row})
    expect_error([&] { result_table_from(bad, "t.json"); }, "t.json");
}

TEST(ResultTable, TheEndingOfAFileIsItsFormat) {
  EXPECT_EQ(table_format_of("a/b.tex", "table"), TableFormat::latex);
  EXPECT_THROW(table_format_of("a/b.pdf", "table"), Error);
}

}  // namespace parsnets::test
