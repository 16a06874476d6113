#include "kernels/judge/call_judgement.h"

namespace attoscope {

std::shared_ptr<const Matrix> shares_of(const CallJudgement& call) {
  if (!call.incomparable().empty()) return nullptr;
  const auto shares = std::make_shared<Matrix>(Matrix{call.shape.n, call.shape.d_v, {}});
  shares->values.reserve(static_cast<std::size_t>(shares->rows) * static_cast<std::size_t>(shares->cols));
  for (int row = 0; row < shares->rows; ++row)
    for (int column = 0; column < shares->cols; ++column) shares->values.push_back(call.share(row, column));
  return shares;
}

std::shared_ptr<const Result> with_shares(const Result& result, const Matrix& shares) {
  const auto judged = std::make_shared<Result>(result);
  const auto held = std::make_shared<Matrix>(Matrix{result.golden->rows, shares.cols, {}});
  for (const int row : result.rows) {
    const auto from = shares.values.begin() + static_cast<std::ptrdiff_t>(row) * shares.cols;
    held->values.insert(held->values.end(), from, from + shares.cols);
  }
  judged->shares = held;
  return judged;
}

}  // namespace attoscope
