// One table, rendered for files and for people.
#include "kernels/experiment/table.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "kernels/experiment/csv_text.h"
#include "tests/support/matchers.h"

namespace attoscope::app {
namespace {

struct Row {
  std::string name;
  int keys;
  double error;
};

Table small() {
  const std::vector<Row> rows{{"a, b", 8, 0.125}, {"c|_%", -16, 1234.5678}, {"d", 0, -std::nan("")}};
  const std::vector<TableColumn<Row>> columns{
      table_column<Row>({.key = "name"}, &Row::name), table_column<Row>({.key = "keys", .shown = ColumnFor::files}, &Row::keys),
      table_column<Row>({.key = "max_error", .title = "max error", .digits = 3}, &Row::error),
      table_column<Row>({.key = "note", .shown = ColumnFor::people},
                        [](const Row& row) { return row.keys > 0 ? TableCell{std::string("wide")} : TableCell{}; })};
  return table_of(columns, std::span<const Row>(rows));
}

TEST(Table, FilesHaveAllDigitsAndReadBack) {
  const std::string text = csv_text(small());
  EXPECT_EQ(text, "name,keys,max_error\n\"a, b\",8,0.125\nc|_%,-16,1234.5678\nd,0,nan\n");
  EXPECT_EQ(csv_lines(text)[1][0], "a, b");
}

TEST(Table, PeopleGetTheirOwnColumnsAligned) {
  EXPECT_EQ(plain_text(small()),
            "name  max error  note\n"
            "a, b      0.125  wide\n"
            "c|_%   1.23e+03\n"
            "d           nan\n");
}

TEST(Table, MarkdownAndLatexEscapeWhatTheyMust) {
  EXPECT_EQ(
      markdown_text(small()),
      "| name | max error | note |\n| --- | ---: | --- |\n| a, b | 0.125 | wide |\n| c\\|_% | 1.23e+03 |  |\n| d | nan |  |\n");
  EXPECT_THAT(latex_text(small()),
              ::testing::HasSubstr("\\begin{tabular}{lrl}\n\\hline\nname & max error & note \\\\\n\\hline\n"));
  EXPECT_THAT(latex_text(small()), ::testing::HasSubstr("c$\\vert$\\_\\% & 1.23e+03 &  \\\\\n"));
}

TEST(Table, JsonHasTheKeysOfFiles) {
  EXPECT_EQ(json_text(rows_json(small()), -1),
            R"([{"name":"a, b","keys":8,"max_error":0.125},{"name":"c|_%","keys":-16,"max_error":1234.5678},)"
            R"({"name":"d","keys":0,"max_error":null}])"
            "\n");
}

}  // namespace
}  // namespace attoscope::app
