#include "app/tensors/pickle.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "app/words/numbers.h"

namespace attoscope {
namespace {

/// The operations of protocols 2 to 5 that torch.save writes (Python, Lib/pickle.py).
enum class Op : unsigned char {
  mark = '(',
  stop = '.',
  none = 'N',
  integer = 'J',
  byte = 'K',
  two_bytes = 'M',
  real = 'G',
  text = 'X',
  short_string = 'U',
  global = 'c',
  reduce = 'R',
  build = 'b',
  persistent = 'Q',
  empty_tuple = ')',
  tuple = 't',
  empty_list = ']',
  append = 'a',
  appends = 'e',
  empty_dict = '}',
  set_item = 's',
  set_items = 'u',
  put = 'q',
  long_put = 'r',
  get = 'h',
  long_get = 'j',
  protocol = 0x80,
  new_object = 0x81,
  tuple_of_1 = 0x85,
  tuple_of_2 = 0x86,
  tuple_of_3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long_integer = 0x8a,
  short_text = 0x8c,
  long_text = 0x8d,
  empty_set = 0x8f,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95
};

class PickleReader {
 public:
  PickleReader(std::string_view bytes, std::size_t begin, const std::string& label)
      : bytes_(bytes), at_(begin), begin_(begin), label_(label) {}

  Pickle read() {
    while (!ended_) {
      at_op_ = at_;
      const auto op = static_cast<Op>(number(1));
      if (!reads_value(op) && !makes(op) && !fills(op) && !remembers(op))
        fail("has the operation " + std::to_string(static_cast<int>(op)) + " of pickle, expected one that torch.save writes");
    }
    pickle_.top = pop();
    pickle_.end = at_;
    return std::move(pickle_);
  }

 private:
  /// Operations that push a value which follows them.
  bool reads_value(Op op) {
    switch (op) {
      case Op::none:
        return push({}), true;
      case Op::new_true:
      case Op::new_false:
        return push({.kind = PickleKind::boolean, .integer = op == Op::new_true}), true;
      case Op::integer:
        return push_integer(static_cast<std::int32_t>(number(4))), true;
      case Op::byte:
        return push_integer(static_cast<std::int64_t>(number(1))), true;
      case Op::two_bytes:
        return push_integer(static_cast<std::int64_t>(number(2))), true;
      case Op::long_integer:
        return push_long(taken(number(1))), true;
      case Op::real:
        return push({.kind = PickleKind::real, .real = big_endian_double()}), true;
      case Op::text:
        return push_text(PickleKind::text, taken(number(4))), true;
      case Op::short_text:
      case Op::short_string:
        return push_text(PickleKind::text, taken(number(1))), true;
      case Op::long_text:
        return push_text(PickleKind::text, taken(number(8))), true;
      case Op::global:
        return push_global(), true;
      default:
        return false;
    }
  }

  /// Operations that make one value of others.
  bool makes(Op op) {
    switch (op) {
      case Op::empty_tuple:
        return push({.kind = PickleKind::tuple}), true;
      case Op::empty_list:
      case Op::empty_set:
        return push({.kind = PickleKind::list}), true;
      case Op::empty_dict:
        return push({.kind = PickleKind::dict}), true;
      case Op::tuple:
        return push({.kind = PickleKind::tuple, .items = from_mark()}), true;
      case Op::tuple_of_1:
      case Op::tuple_of_2:
      case Op::tuple_of_3:
        return push({.kind = PickleKind::tuple, .items = last(static_cast<int>(op) - 0x84)}), true;
      case Op::stack_global:
        return push_stack_global(), true;
      case Op::reduce:
      case Op::new_object:
        return push_call(), true;
      case Op::persistent:
        return push({.kind = PickleKind::persistent, .items = last(1)}), true;
      default:
        return false;
    }
  }

  /// Operations that add to the list or dict below.
  bool fills(Op op) {
    switch (op) {
      case Op::mark:
        return marks_.push_back(stack_.size()), true;
      case Op::append:
        return add(PickleKind::list, last(1)), true;
      case Op::appends:
        return add(PickleKind::list, from_mark()), true;
      case Op::set_item:
        return add(PickleKind::dict, last(2)), true;
      case Op::set_items:
        return add(PickleKind::dict, from_mark()), true;
      case Op::build:  // the state of an object, which is not looked into
        return pop(), true;
      default:
        return false;
    }
  }

  /// Operations on the memo, and those without a value.
  bool remembers(Op op) {
    switch (op) {
      case Op::put:
        return keep(number(1)), true;
      case Op::long_put:
        return keep(number(4)), true;
      case Op::memoize:
        return keep(memo_.size()), true;
      case Op::get:
        return recall(number(1)), true;
      case Op::long_get:
        return recall(number(4)), true;
      case Op::protocol:
        return check_protocol(number(1)), true;
      case Op::frame:
        return number(8), true;
      case Op::stop:
        return ended_ = true;
      default:
        return false;
    }
  }

  // --- bytes --------------------------------------------------------------------------------------------------------------

  std::string_view taken(std::uint64_t count) {
    if (count > bytes_.size() - at_) fail("ends within a value, expected the end of the pickle");
    const std::string_view part = bytes_.substr(at_, count);
    at_ += count;
    return part;
  }

  /// An integer from `count` bytes, lowest first.
  std::uint64_t number(int count) {
    const std::string_view part = taken(static_cast<std::uint64_t>(count));
    std::uint64_t value = 0;
    for (std::size_t i = part.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(part[i]);
    return value;
  }

  double big_endian_double() {
    std::uint64_t bits = 0;
    for (const char c : taken(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    return std::bit_cast<double>(bits);
  }

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
    if (module.kind != PickleKind::text || name.kind != PickleKind::text) fail("names a global by what is no text");
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
    if (marks_.empty()) fail("closes what was not opened");
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

}  // namespace

Pickle read_pickle(std::string_view bytes, std::size_t begin, const std::string& label) {
  return PickleReader(bytes, begin, label).read();
}

}  // namespace attoscope
