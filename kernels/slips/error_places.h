/// Place of the error in a matrix, in words.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// "everywhere", "in rows 960 to 999", "in every 64th row from row 3 on", "in columns 32 to 63", "in whole tiles of 64 rows: 3
/// of 16", "in 5 rows, the first 17"; "" if no row is bad. `bad_rows` and `bad_columns` mark the rows and columns with a bad
/// element; `rows` names the matrix's rows, of which there are n in all.
std::string error_places(const std::vector<bool>& bad_rows, const std::vector<bool>& bad_columns, const std::vector<int>& rows,
                         int n);

}  // namespace attoscope
