/// Calls whose sequences are packed into one tensor, padded, or stored in pages: each sequence becomes a call of its own.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tensors/head_layout.h"
#include "app/tensors/readers.h"
#include "kernels/experiment/tensor_spec.h"
#include "kernels/slips/slips.h"

namespace attoscope::app {

/// The tensors that locate the sequences, and the order of dimensions in a page.
struct PackedTables {
  std::array<std::optional<NamedTensor>, packed_part_names.size()> tensors{};
  std::string page_layout{};  ///< NHD or HND; "": not given

  const std::optional<NamedTensor>& operator[](PackedPart part) const { return tensors[static_cast<std::size_t>(part)]; }
  /// True if there is a tensor that locates sequences.
  bool any() const;
};

/// The named tables, and others from the files of the call whose names share `shared`. Throws std::runtime_error or
/// std::invalid_argument with one sentence if a named table cannot be read, or if several fit.
PackedTables packed_tables(const TensorSet& set, const PackedSpecs& specs, const std::string& shared);

/// Splits a tensor [2, ...] or [blocks, 2, ...] into K and V; if both sizes are 2, `blocks_first` decides. Throws with one
/// sentence.
std::pair<NamedTensor, NamedTensor> split_kv(const NamedTensor& both, bool blocks_first);
/// Splits each tensor of the set that is called kv into K and V.
TensorSet with_kv_split(TensorSet set);

/// A tensor as tokens: `pages` pages, or rows of a batch, of `page` tokens each.
struct TokenStore {
  NamedTensor tensor;
  std::uint64_t pages = 1, page = 0;  ///< tokens of a page
  int heads = 1, d = 0;
  std::uint64_t page_step = 0, token_step = 0, head_step = 0;  ///< in elements

  std::uint64_t tokens() const { return pages * page; }
};

/// Consecutive tokens of a sequence.
struct TokenRun {
  std::uint64_t first = 0;
  int count = 0;
  std::vector<std::uint64_t> pages{};  ///< in order; `first` counts from pages[0] on; empty: from the store's first token

  /// Index in the store of token `token` of the run; `page`: tokens of a page.
  std::uint64_t place(std::uint64_t token, std::uint64_t page) const;
};

struct Sequence {
  int index = 0;  ///< in the file
  TokenRun q, k;
  std::uint64_t left_padding = 0;
};

/// A call as a list of sequences.
struct PackedCall {
  std::array<TokenStore, 4> parts;  ///< Q, K, V and O; pages of 0 tokens: there is no output that fits
  bool paged = false;
  bool bounds_queries = false, bounds_keys = false;  ///< sequences lie one behind the other
  std::size_t count = 0;                             ///< of sequences in the file
  std::vector<Sequence> sequences;                   ///< with queries and keys
  std::vector<std::string> left_out;                 ///< one remark on each other sequence, and on queries in none
  std::vector<Sequence> without_keys;                ///< with queries and no keys

  /// Part 0 q .. 3 o of a sequence as a tensor [n, heads, d].
  NamedTensor tensor(const Sequence& sequence, int part) const;
  /// The same for `store`, another tensor with the tokens of part 0 q or 1 k, made by `store_like`.
  NamedTensor tensor(const TokenStore& store, const Sequence& sequence, int part) const;
  /// Reads a tensor as the tokens of part 0 q or 1 k with `heads` heads and `d` columns: stored like the part or, for q, as a
  /// row of padded tokens for each sequence. If both orders of heads and tokens fit, takes the part's order; none if none fits.
  std::optional<TokenStore> store_like(const NamedTensor& tensor, int part, int heads, int d) const;
  HeadShape shape(const Sequence& sequence, int part) const;
  /// True if the sequence has all stored tokens of a part, in order.
  bool has_all(const Sequence& sequence, int part) const;
};

/// Finds the sequences of a call from its tables; its tensors are q, k, v and perhaps o (without a file: absent). Tokens come
/// before heads, unless `layout` or the tables' page_layout differs or that order does not fit. Throws std::runtime_error with
/// one sentence that names the file, the tensor, the value and what was expected.
PackedCall packed_call(const std::array<NamedTensor, 4>& qkvo, const PackedTables& tables,
                       const std::optional<HeadLayout>& layout);

/// Reads part 0 q, 1 k or 2 v of the tokens of a sequence, which need not be one of the call's.
using ReadTokens = std::function<std::vector<double>(const Sequence& tokens, int part)>;
/// The keys of all sequences for one head of the sequence `call.sequences[place]`, of this shape; null if they are too many.
std::shared_ptr<const StoredKeys> stored_keys(const PackedCall& call, std::size_t place, const AttentionShape& shape,
                                              const ReadTokens& read);

}  // namespace attoscope::app
