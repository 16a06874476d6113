#include "app/tensors/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "app/files/files.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::size_t begin, const std::string& label)
      : bytes_(bytes), at_(begin), begin_(begin), label_(label) {}

  Pickle read() {
    while (!ended_) {
      at_op_ = at_;
      const auto code = static_cast<unsigned char>(number(1));
      const auto op = std::ranges::find(operations, code, &Operation::code);
      if (op == operations.end())
        fail("has the operation " + std::to_string(code) + " of pickle, expected one that torch.save writes");
      op->run(*this);
    }
    pickle_.top = pop();
    pickle_.end = at_;
    return std::move(pickle_);
  }

 private:
  struct Operation {
    unsigned char code;
    void (*run)(PickleReader& r);
  };
  static const std::array<Operation, 39> operations;

  // --- bytes --------------------------------------------------------------------------------------------------------------

  std::string_view taken(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("ends within a value, expected the end of the pickle");
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }

  /// An integer from `count` bytes, lowest first.
  std::uint64_t number(std::uint64_t count) { return number_in(taken(count)); }
  double big_endian_double() { return std::bit_cast<double>(number_in(taken(8), true)); }

  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    const std::string_view text = taken(end == std::string_view::npos ? bytes_.size() : end - at_);
    taken(1);
    return text;
  }

  // --- values -------------------------------------------------------------------------------------------------------------

  void push(PickleValue value) {
    if (pickle_.values.size() >= most_pickle_values)
      fail("holds more than " + std::to_string(most_pickle_values) + " values, expected fewer");
    stack_.push_back(static_cast<int>(pickle_.values.size()));
    pickle_.values.push_back(std::move(value));
  }
  void push_integer(std::int64_t x) { push({.kind = PickleKind::integer, .integer = x}); }
  void push_text(PickleKind kind, std::string_view text) { push({.kind = kind, .text = std::string(text)}); }

  /// Two's complement, lowest byte first.
  void push_long(std::string_view bytes) {
    PickleValue value{.kind = PickleKind::integer};
    if (bytes.size() > 8) value.text = bytes;
    const bool negative = !bytes.empty() && bytes.back() < 0;
    std::uint64_t bits = negative ? ~std::uint64_t{0} : 0;
    for (std::size_t i = std::min<std::size_t>(bytes.size(), 8); i-- > 0;)
      bits = bits << 8 | static_cast<unsigned char>(bytes[i]);
    value.integer = static_cast<std::int64_t>(bits);
    push(std::move(value));
  }

  void push_global() {
    const std::string module(line());
    push_text(PickleKind::global, module + "." + std::string(line()));
  }
  void push_stack_global() {
    const std::vector<int> names = last(2);
    const PickleValue &module = pickle_[names[0]], &name = pickle_[names[1]];
    if (module.kind != PickleKind::text || name.kind != PickleKind::text) fail("names a global by a value that is no text");
    push_text(PickleKind::global, module.text + "." + name.text);
  }

  void push_call() {
    std::vector<int> parts = last(2);
    const PickleValue &callee = pickle_[parts[0]], &arguments = pickle_[parts[1]];
    const bool empty_dict = callee.kind == PickleKind::global && callee.text == "collections.OrderedDict" &&
                            arguments.kind == PickleKind::tuple && arguments.items.empty();
    if (empty_dict) return push({.kind = PickleKind::dict});
    push({.kind = PickleKind::call, .items = std::move(parts)});
  }

  /// Adds to the value on top, unless it is the result of a call.
  void add(PickleKind kind, const std::vector<int>& items) {
    if (stack_.empty()) fail("adds to a value that is not there");
    PickleValue& to = pickle_.values[static_cast<std::size_t>(stack_.back())];
    if (to.kind == PickleKind::call) return;
    if (to.kind != kind) fail("adds to a value that holds no others");
    if (kind == PickleKind::dict && items.size() % 2 != 0) fail("has a key without a value");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }

  // --- stack --------------------------------------------------------------------------------------------------------------

  int pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("takes a value that is not there");
    const int value = stack_.back();
    stack_.pop_back();
    return value;
  }
  std::vector<int> last(int count) {
    std::vector<int> values(static_cast<std::size_t>(count));
    for (std::size_t i = values.size(); i-- > 0;) values[i] = pop();
    return values;
  }
  std::vector<int> from_mark() {
    if (marks_.empty()) fail("closes a mark that was not opened");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<int> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  void keep(std::uint64_t place) {
    if (stack_.empty()) fail("keeps a value that is not there");
    memo_[place] = stack_.back();
  }
  void recall(std::uint64_t place) {
    const auto found = memo_.find(place);
    if (found == memo_.end()) fail("takes the kept value " + std::to_string(place) + ", which is not there");
    stack_.push_back(found->second);
  }
  void check_protocol(std::uint64_t protocol) {
    if (protocol < 2 || protocol > 5) fail("is of protocol " + std::to_string(protocol) + ", expected 2 to 5");
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error(label_ + ": its pickle " + why + " (byte " + std::to_string(at_op_ - begin_) + ")");
  }

  std::string_view bytes_;
  std::size_t at_, begin_, at_op_ = 0;
  const std::string& label_;
  Pickle pickle_;
  std::vector<int> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, int> memo_;
  bool ended_ = false;
};

/// The operations of protocols 2 to 5 that torch.save writes (Python, Lib/pickle.py).
const std::array<PickleReader::Operation, 39> PickleReader::operations{{
    {'(', [](PickleReader& r) { r.marks_.push_back(r.stack_.size()); }},  // mark
    {'.', [](PickleReader& r) { r.ended_ = true; }},                      // stop
    // values that follow
    {'N', [](PickleReader& r) { r.push({}); }},                                                         // none
    {0x88, [](PickleReader& r) { r.push({.kind = PickleKind::boolean, .integer = 1}); }},               // true
    {0x89, [](PickleReader& r) { r.push({.kind = PickleKind::boolean, .integer = 0}); }},               // false
    {'J', [](PickleReader& r) { r.push_integer(static_cast<std::int32_t>(r.number(4))); }},             // integer
    {'K', [](PickleReader& r) { r.push_integer(static_cast<std::int64_t>(r.number(1))); }},             // byte
    {'M', [](PickleReader& r) { r.push_integer(static_cast<std::int64_t>(r.number(2))); }},             // two bytes
    {0x8a, [](PickleReader& r) { r.push_long(r.taken(r.number(1))); }},                                 // long integer
    {'G', [](PickleReader& r) { r.push({.kind = PickleKind::real, .real = r.big_endian_double()}); }},  // real
    {'X', [](PickleReader& r) { r.push_text(PickleKind::text, r.taken(r.number(4))); }},                // text
    {0x8c, [](PickleReader& r) { r.push_text(PickleKind::text, r.taken(r.number(1))); }},               // short text
    {'U', [](PickleReader& r) { r.push_text(PickleKind::text, r.taken(r.number(1))); }},                // short string
    {0x8d, [](PickleReader& r) { r.push_text(PickleKind::text, r.taken(r.number(8))); }},               // long text
    {'c', [](PickleReader& r) { r.push_global(); }},                                                    // global
    // values made of others
    {')', [](PickleReader& r) { r.push({.kind = PickleKind::tuple}); }},                           // empty tuple
    {']', [](PickleReader& r) { r.push({.kind = PickleKind::list}); }},                            // empty list
    {0x8f, [](PickleReader& r) { r.push({.kind = PickleKind::list}); }},                           // empty set
    {'}', [](PickleReader& r) { r.push({.kind = PickleKind::dict}); }},                            // empty dict
    {'t', [](PickleReader& r) { r.push({.kind = PickleKind::tuple, .items = r.from_mark()}); }},   // tuple
    {0x85, [](PickleReader& r) { r.push({.kind = PickleKind::tuple, .items = r.last(1)}); }},      // tuple of 1
    {0x86, [](PickleReader& r) { r.push({.kind = PickleKind::tuple, .items = r.last(2)}); }},      // tuple of 2
    {0x87, [](PickleReader& r) { r.push({.kind = PickleKind::tuple, .items = r.last(3)}); }},      // tuple of 3
    {0x93, [](PickleReader& r) { r.push_stack_global(); }},                                        // global from the stack
    {'R', [](PickleReader& r) { r.push_call(); }},                                                 // reduce
    {0x81, [](PickleReader& r) { r.push_call(); }},                                                // new object
    {'Q', [](PickleReader& r) { r.push({.kind = PickleKind::persistent, .items = r.last(1)}); }},  // persistent
    // additions to the list or dict below
    {'a', [](PickleReader& r) { r.add(PickleKind::list, r.last(1)); }},      // append
    {'e', [](PickleReader& r) { r.add(PickleKind::list, r.from_mark()); }},  // appends
    {'s', [](PickleReader& r) { r.add(PickleKind::dict, r.last(2)); }},      // set item
    {'u', [](PickleReader& r) { r.add(PickleKind::dict, r.from_mark()); }},  // set items
    {'b', [](PickleReader& r) { r.pop(); }},                                 // build: the state of an object, which is dropped
    // the memo, and operations without a value
    {'q', [](PickleReader& r) { r.keep(r.number(1)); }},             // put
    {'r', [](PickleReader& r) { r.keep(r.number(4)); }},             // long put
    {0x94, [](PickleReader& r) { r.keep(r.memo_.size()); }},         // memoize
    {'h', [](PickleReader& r) { r.recall(r.number(1)); }},           // get
    {'j', [](PickleReader& r) { r.recall(r.number(4)); }},           // long get
    {0x80, [](PickleReader& r) { r.check_protocol(r.number(1)); }},  // protocol
    {0x95, [](PickleReader& r) { r.number(8); }},                    // frame
}};

}  // namespace

Pickle read_pickle(std::string_view bytes, std::size_t begin, const std::string& label) {
  return PickleReader(bytes, begin, label).read();
}

}  // namespace attoscope::app
