#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/arithmetic/random.h"
#include "kernels/train/plan/corpus.h"

namespace attoscope {
namespace {

constexpr std::uint64_t chronicle_seed = 1, chronicle_stream = 0x6368726f;
constexpr int entry_count = 900, first_year = 1001;
constexpr std::size_t remembered_people = 12;

constexpr std::array<std::string_view, 24> first_syllables{"Al",  "Bar", "Cor", "Del", "Er",  "Fen", "Gal", "Har",
                                                           "Il",  "Jor", "Kel", "Lor", "Mar", "Nor", "Os",  "Pel",
                                                           "Rud", "Sel", "Tor", "Ul",  "Ver", "Wil", "Yor", "Zan"};
constexpr std::array<std::string_view, 10> middle_syllables{"a", "e", "i", "o", "am", "en", "ir", "os", "ul", "est"};
constexpr std::array<std::string_view, 16> last_syllables{"da",  "den", "dis", "fa", "la",  "lin", "mund", "na",
                                                          "nor", "ra",  "ric", "sa", "tan", "vin", "wen",  "zo"};
constexpr std::array<std::string_view, 12> town_endings{"bridge", "field", "ford", "gate",  "ham", "haven",
                                                        "hill",   "mere",  "mill", "stead", "ton", "wood"};
constexpr std::array<std::string_view, 16> trades{"baker",    "carpenter", "cooper", "dyer",   "farmer",  "fisher",
                                                  "glazier",  "mason",     "miller", "potter", "saddler", "sailor",
                                                  "shepherd", "smith",     "tailor", "weaver"};
constexpr std::array<std::string_view, 14> qualities{"black", "blue", "broken", "copper", "green",  "grey",  "heavy",
                                                     "long",  "new",  "red",    "round",  "silver", "small", "white"};
constexpr std::array<std::string_view, 16> things{"bell", "boat", "book", "chair", "clock", "coat", "drum",  "jug",
                                                  "key",  "lamp", "map",  "ring",  "rope",  "saw",  "table", "wheel"};
constexpr std::array<std::string_view, 8> stores{"barn", "cellar", "garden", "hall", "kitchen", "shed", "tower", "yard"};
constexpr std::array<std::string_view, 8> numerals{"two", "three", "four", "five", "six", "seven", "eight", "nine"};

/// Sentences about the entry's person, by small letters, and about a guest from an earlier entry, by capitals: the name n, the
/// town t, the trade k, the thing's quality q and its word b, its place p, the year y; a count c, and the year l, which is c
/// years after y.
constexpr std::array<std::string_view, 3> openings{"In the year {y} {n} came to {t} as a {k}.", "In {y} {n} was a {k} in {t}.",
                                                   "The {k} of {t} in the year {y} was {n}."};
constexpr std::array<std::string_view, 3> possessions{" {n} had a {q} {b} and kept it in the {p}.",
                                                      " In the {p} of {n} there was a {q} {b}.",
                                                      " {n} bought a {q} {b} and put it in the {p}."};
constexpr std::array<std::string_view, 6> remarks{
    " The people of {t} knew the {q} {b} of {n}.",       " {n} the {k} used the {q} {b} for {c} days.",
    " The other {k}s of {t} asked {n} for the {q} {b}.", " To see the {q} {b} one went to the {p} of {n}.",
    " In {t} nobody had a {q} {b} but {n} the {k}.",     " \"Look in the {p},\" said {n}, \"the {q} {b} is there.\""};
constexpr std::array<std::string_view, 3> visits{" Then {N}, the {K} of {T}, came to {n} with the {Q} {B}.",
                                                 " {N}, who lived in {T} since {Y}, showed {n} the {Q} {B}.",
                                                 " {n} went to {T} to see {N} the {K} and the {Q} {B}."};
constexpr std::array<std::string_view, 3> talks{" {n} said to {N}: my {b} is {q}, your {B} is {Q}.",
                                                " So {N} the {K} and {n} the {k} were friends.",
                                                " {n} showed {N} the {q} {b} in the {p} too."};
constexpr std::string_view exchange = " {n} gave {N} the {q} {b} for the {Q} {B}.";
constexpr std::array<std::string_view, 3> endings{" {n} left {t} in {l}, {c} years later.\n",
                                                  " In {l}, after {c} years, {n} was still a {k} in {t}.\n",
                                                  " In {l}, {c} years later, the {q} {b} of {n} was still in {t}.\n"};

struct Person {
  std::string name, town;
  std::string_view trade, quality, thing, place;
  int year = 0;
};

class Chronicler {
 public:
  std::string written() {
    for (int entry = 0; entry < entry_count; ++entry) write_entry();
    return std::move(text_);
  }

 private:
  /// The next random number, from 0 to count - 1.
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(philox<std::uint64_t>(drawn_++, 0, chronicle_stream, chronicle_seed).x[0] * count >> 32);
  }
  template <class List>
  std::string_view one_of(const List& list) {
    return list[below(list.size())];
  }
  /// A name of three syllables, the last one of these.
  template <class List>
  std::string name_on(const List& last) {
    std::string made(one_of(first_syllables));
    made += one_of(middle_syllables);
    return made += one_of(last);
  }

  /// A new person, perhaps in the town of a known one.
  Person newcomer() {
    return {.name = name_on(last_syllables),
            .town = people_.empty() || below(3) > 0 ? name_on(town_endings) : people_[below(people_.size())].town,
            .trade = one_of(trades),
            .quality = one_of(qualities),
            .thing = one_of(things),
            .place = one_of(stores),
            .year = year_};
  }

  std::string value(char key) const {
    const bool of_guest = key >= 'A' && key <= 'Z';
    const Person& p = of_guest ? guest_ : host_;
    const std::array<std::string_view, 6> words{p.name, p.town, p.trade, p.quality, p.thing, p.place};
    const char letter = of_guest ? static_cast<char>(key - 'A' + 'a') : key;
    if (const std::size_t word = std::string_view("ntkqbp").find(letter); word < words.size()) return std::string(words[word]);
    if (letter == 'c') return std::string(numerals[count_]);
    return std::to_string(letter == 'y' ? p.year : p.year + 2 + static_cast<int>(count_));
  }

  /// Writes `sentence` with the values of its keys.
  void write(std::string_view sentence) {
    for (std::size_t i = 0; i < sentence.size(); ++i) {
      if (sentence[i] != '{') {
        text_ += sentence[i];
        continue;
      }
      text_ += value(sentence[i + 1]);
      i += 2;
    }
  }

  /// A guest comes, who may leave with the host's thing.
  void write_visit() {
    const std::size_t who = below(people_.size());
    guest_ = people_[who];
    write(one_of(visits));
    write(one_of(talks));
    if (below(2) == 0) return;
    write(exchange);
    std::swap(host_.quality, guest_.quality);
    std::swap(host_.thing, guest_.thing);
    people_[who] = guest_;
  }

  void write_entry() {
    year_ += static_cast<int>(below(3));
    host_ = newcomer();
    count_ = below(numerals.size());
    write(one_of(openings));
    write(one_of(possessions));
    const std::size_t remark = below(remarks.size());
    write(remarks[remark]);
    if (!people_.empty()) write_visit();
    write(remarks[(remark + 1 + below(remarks.size() - 1)) % remarks.size()]);
    write(one_of(endings));
    remember();
  }

  /// The newest people take the places of the oldest.
  void remember() {
    if (people_.size() < remembered_people)
      people_.push_back(host_);
    else
      people_[next_place_++ % remembered_people] = host_;
  }

  std::string text_;
  std::vector<Person> people_;  ///< candidates for a guest
  Person host_, guest_;
  std::uint64_t drawn_ = 0;
  std::size_t count_ = 0, next_place_ = 0;
  int year_ = first_year;
};

}  // namespace

std::string chronicle() { return Chronicler().written(); }

}  // namespace attoscope
