/// Keys of a packed or paged call: where those of a sequence lie among all that are stored.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/input.h"

namespace attoscope {

/// Rows of Q that a kernel computes as queries of a sequence.
struct RowsOfSequence {
  int first = 0, end = 0;                          ///< the rows, [first, end)
  int queries = 0;                                 ///< of that sequence
  int shift = 0;                                   ///< `row` is its query row + shift
  std::vector<int> keys;                           ///< stored tokens, in order
  std::vector<int> values{};                       ///< those of V; empty: those of K
  std::shared_ptr<const std::vector<double>> q{};  ///< queries in the place of the head's; null: its own
};

/// A head as a kernel sees it that reads wrong bounds of sequences.
struct OtherBounds {
  std::string text;                  ///< "cu_seqlens_k[1] is one too large"
  std::vector<RowsOfSequence> rows;  ///< the others stay as they are
};

/// K and V of one head, of all sequences.
struct StoredKeys {
  std::shared_ptr<const Tensors> all;  ///< K and V of every stored token, page by page
  std::vector<int> own;                ///< stored token of each key
  int page = 0;                        ///< tokens of a page; 0: there are no pages
  int first = 0;                       ///< place of key 0 in the sequence's first page
  int sequence = 0;                    ///< index of the head's sequence
  std::vector<std::string> holders;    ///< of each stored page: "sequence 0, page 2"; "": it is in no sequence
  std::vector<OtherBounds> bounds;     ///< usual mistakes
};

}  // namespace attoscope
