// Q, K and V in other roles, read in another layout, or rounded differently.
#include <algorithm>
#include <set>

#include "kernels/experiment/result.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

/// Adds a head with the inputs in other roles.
void add_roles(SuspectList& list, const char* text, TensorsPart q, TensorsPart k, TensorsPart v) {
  list.add(Kind::operands, text, list.right(), [inputs = list.inputs(), q, k, v] {
    const Tensors& t = *inputs;
    return std::make_shared<const VariantHead>(variant_head(Tensors{t.n, t.n_k, t.d, t.d_v, t.*q, t.*k, t.*v, {}, {}}));
  });
}

/// Changes one of the inputs, rows x columns.
using Change = std::function<void(std::vector<double>& x, int rows, int columns)>;

void add_changed(SuspectList& list, std::string text, TensorsPart part, const Change& change) {
  list.add(Kind::operands, std::move(text), list.right(), [inputs = list.inputs(), own = list.own(), part, change] {
    const Tensors& t = *inputs;
    std::vector<double> x = t.*part;
    change(x, part == &Tensors::q ? t.n : t.n_k, part == &Tensors::v ? t.d_v : t.d);
    return std::make_shared<const VariantHead>(with_part(*own(), part, std::move(x)));
  });
}

/// Adds one of the inputs read as its transpose.
void add_across(SuspectList& list, const char* text, TensorsPart part) {
  add_changed(list, text, part, [](auto& x, int rows, int columns) { x = by_columns(x, columns, rows); });
}

void add_roles(SuspectList& list) {
  using T = Tensors;
  const AttentionShape s = list.shape();
  const bool columns_fit = s.d == s.d_v;
  if (columns_fit) add_roles(list, "K and V swapped", &T::q, &T::v, &T::k);
  if (s.n == s.n_k) add_roles(list, "Q and K swapped", &T::k, &T::q, &T::v);
  if (columns_fit) add_roles(list, "K in the place of V", &T::q, &T::k, &T::k);
  if (columns_fit) add_roles(list, "V in the place of K", &T::q, &T::v, &T::v);
  add_across(list, "K read as d x n", &T::k);
  add_across(list, "V read as d x n", &T::v);
  add_across(list, "Q read as d x n", &T::q);
}

/// Adds rows of V paired with other keys.
void add_rows_of_V(SuspectList& list) {
  const int n = list.shape().n_k;
  list.add_values(Kind::operands, "values shifted by one against their keys (P[j] V[j + 1])",
                  [n](int j) { return (j + 1) % n; });
  list.add_values(Kind::operands, "values shifted by one against their keys (P[j] V[j - 1])",
                  [n](int j) { return (j - 1 + n) % n; });
  if (n < 2) return;
  list.add_values(Kind::tail, "the last row of V replaced by the one before it", [n](int j) { return std::min(j, n - 2); });
  list.add_values(Kind::tail, "the last row of V in the place of the one before it, too",
                  [n](int j) { return j == n - 2 ? n - 1 : j; });
  list.add_values(Kind::tail, "the last row of V never read (zeros)", [n](int j) { return j == n - 1 ? -1 : j; });
  list.add_with(Kind::tail, "the last row of K and V counted twice", [n](auto& v) { v.repeated_from = n - 1; });
}

/// A change that takes element (i, c) from the position from(i, c).
Change taken_from(const std::function<std::pair<int, int>(int i, int c, int rows, int columns)>& from) {
  return [from](std::vector<double>& x, int rows, int columns) {
    const std::vector<double> before = x;
    for (int i = 0; i < rows; ++i)
      for (int c = 0; c < columns; ++c) {
        const auto [row, column] = from(i, c, rows, columns);
        x[at(i * columns + c)] = before[at(row * columns + column)];
      }
  };
}

/// Adds transposed fragments of tensor cores, and permuted columns.
void add_fragments(SuspectList& list) {
  constexpr std::pair<const char*, TensorsPart> parts[]{{"Q", &Tensors::q}, {"K", &Tensors::k}, {"V", &Tensors::v}};
  for (const int size : {8, 16})
    for (const auto& [name, part] : parts)
      add_changed(
          list,
          std::string(name) + " in fragments of " + std::to_string(size) + " x " + std::to_string(size) + ", each transposed",
          part, taken_from([size](int i, int c, int rows, int columns) {
            if (i / size * size + size > rows || c / size * size + size > columns) return std::pair{i, c};
            return std::pair{i / size * size + c % size, c / size * size + i % size};
          }));
  const int d = list.shape().d;
  if (d % 2 != 0) return;
  for (int bit = 1; bit < d; bit *= 2)
    if (d % (2 * bit) == 0)
      add_changed(list, "columns of K exchanged with their neighbours (c ^ " + std::to_string(bit) + ")", &Tensors::k,
                  taken_from([bit](int i, int c, int, int) { return std::pair{i, c ^ bit}; }));
  if (d % 4 != 0)
    add_changed(list, "the two halves of the columns of K exchanged", &Tensors::k,
                taken_from([](int i, int c, int, int n) { return std::pair{i, (c + n / 2) % n}; }));
  add_changed(list, "the two halves of the columns of K interleaved", &Tensors::k,
              taken_from([](int i, int c, int, int n) { return std::pair{i, c % 2 * (n / 2) + c / 2}; }));
  add_changed(list, "even columns of K before the odd ones", &Tensors::k,
              taken_from([](int i, int c, int, int n) { return std::pair{i, c % (n / 2) * 2 + c / (n / 2)}; }));
}

/// Adds q.k over more columns than d: in a padded tile they are the beginning of the next row.
void add_padded_columns(SuspectList& list) {
  const int d = list.shape().d;
  std::set<int> widths;
  for (int multiple = 16; multiple <= 256; multiple *= 2)
    if (const int width = (d + multiple - 1) / multiple * multiple; width != d && width <= 2 * d) widths.insert(width);
  for (const int width : widths) {
    const int more = width - d;
    list.add(Kind::operands,
             "q.k reads " + std::to_string(more) + " columns more, up to " + std::to_string(width) + ", of the next row",
             list.right(), [inputs = list.inputs(), width] {
               Tensors t = *inputs;
               const auto padded = [&](const std::vector<double>& x, int rows) {
                 std::vector<double> y;
                 for (int i = 0; i < rows; ++i)
                   for (int c = 0; c < width; ++c) {
                     const std::size_t place = at(i * t.d + c);
                     y.push_back(place < x.size() ? x[place] : 0);
                   }
                 return y;
               };
               t.q = padded(inputs->q, t.n);
               t.k = padded(inputs->k, t.n_k);
               t.d = width;
               return std::make_shared<const VariantHead>(variant_head(std::move(t)));
             });
  }
}

/// Adds scales of stored tensors that are missing, applied twice, or read in another layout.
void add_readings(SuspectList& list) {
  if (!list.heads().readings) return;
  for (const OtherReading& reading : list.heads().readings(list.problem().input.index))
    list.add(Kind::operands, reading.text, list.right(), [read = reading.read, as_seen = list.as_seen(), own = list.inputs()] {
      const std::shared_ptr<const Tensors> x = as_seen(read());
      return std::make_shared<const VariantHead>(variant_head(x ? x : own));
    });
}

}  // namespace

void add_operand_suspects(SuspectList& list) {
  add_roles(list);
  add_rows_of_V(list);
  add_fragments(list);
  add_padded_columns(list);
  add_readings(list);
}

}  // namespace attoscope
