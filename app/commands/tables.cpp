#include "app/commands/tables.h"

#include <stdexcept>
#include <utility>

#include "app/files/files.h"

namespace attoscope {

void check_tables(const TableFiles& x) {
  for (const auto& [option, file] : {std::pair{"--csv", x.csv}, {"--json", x.json}})
    if (!file.empty() && file != "-") check_place(option, file);
  check_distinct({{"--csv", x.csv}, {"--json", x.json}});
  if (x.csv == "-" && x.json == "-") throw std::invalid_argument("--csv and --json are both -, expected one of them");
}

void write_tables(const TableFiles& x, const Tables& tables, std::ostream& out) {
  const std::string csv = x.csv.empty() ? "" : tables.csv(), json = x.json.empty() ? "" : tables.json();
  StagedFiles written;
  if (!csv.empty() && x.csv != "-") written.add(x.csv, csv);
  if (!json.empty() && x.json != "-") written.add(x.json, json);
  written.commit();
  out << (x.csv == "-" ? csv : x.json == "-" ? json : tables.report()) << std::flush;
}

}  // namespace attoscope
