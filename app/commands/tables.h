/// What a command found, as a table for people, as CSV and as JSON.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace attoscope {

/// Where tables are written; "" nowhere, "-" to standard output.
struct TableFiles {
  std::string csv, json;
};
/// Before anything is computed: throws std::invalid_argument in a sentence where they could not be written.
void check_tables(const TableFiles& files);

/// The same as each kind of table; only those that are wanted are made.
struct Tables {
  std::function<std::string()> csv, json, report;
};
/// Writes the files that were asked for together, and one table to `out`.
void write_tables(const TableFiles& files, const Tables& tables, std::ostream& out);

}  // namespace attoscope
