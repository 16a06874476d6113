#include "app/words/mathml.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "kernels/experiment/letters.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

/// A LaTeX command of a sign, with the text and the element of MathML.
struct Sign {
  std::string_view name, text, element;
};
constexpr std::array<Sign, 33> signs{
    {{"alpha", "α", "mi"}, {"beta", "β", "mi"},  {"delta", "δ", "mi"},      {"sigma", "σ", "mi"},
     {"tau", "τ", "mi"},   {"infty", "∞", "mi"}, {"approx", "≈", "mo"},     {"cdot", "·", "mo"},
     {"cdots", "⋯", "mo"}, {"le", "≤", "mo"},    {"Rightarrow", "⇒", "mo"}, {"lceil", "⌈", "mo"},
     {"rceil", "⌉", "mo"}, {"sum", "∑", "mo"},   {"ln", "ln", "mi"},        {"log", "log", "mi"},
     {"max", "max", "mo"}, {"min", "min", "mo"}, {"quad", "1em", "mspace"}, {"qquad", "2em", "mspace"},
     {"(", "(", "mo"},     {")", ")", "mo"},     {"[", "[", "mo"},          {"]", "]", "mo"},
     {"|", "|", "mo"},     {"+", "+", "mo"},     {"-", "−", "mo"},          {"=", "=", "mo"},
     {"<", "&lt;", "mo"},  {">", "&gt;", "mo"},  {"/", "/", "mo"},          {",", ",", "mo"},
     {"'", "′", "mo"}}};

std::string element(std::string_view name, std::string_view content) {
  std::string text("<");
  return text.append(name).append(">").append(content).append("</").append(name).append(">");
}

/// Parses a formula from left to right; every function returns one element.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// Everything up to a closing brace or the end.
  std::string row() {
    std::string content;
    for (skip(); at_ < text_.size() && text_[at_] != '}' && !follows("\\right"); skip()) content += scripted();
    return element("mrow", content);
  }
  bool done() const { return at_ == text_.size(); }
  [[noreturn]] void refuse() const {
    throw std::invalid_argument("the formula '" + std::string(text_) + "' holds '" + std::string(text_.substr(at_, 12)) +
                                "', expected a command that lessons use");
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool follows(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  /// An atom with its subscript and superscript.
  std::string scripted() {
    const bool limits = follows("\\sum") || follows("\\max") || follows("\\min") || follows("\\underbrace");
    const std::string base = atom();
    std::string below, above;
    for (skip(); at_ < text_.size() && (text_[at_] == '_' || text_[at_] == '^'); skip()) {
      std::string& script = text_[at_] == '_' ? below : above;
      ++at_;
      script = argument();
    }
    const std::string under = limits ? "munder" : "msub", over = limits ? "mover" : "msup",
                      both = limits ? "munderover" : "msubsup";
    if (below.empty() && above.empty()) return base;
    if (above.empty()) return element(under, base + below);
    return below.empty() ? element(over, base + above) : element(both, base + below + above);
  }

  /// A group in braces, or a single atom.
  std::string argument() {
    skip();
    if (at_ >= text_.size()) refuse();
    return text_[at_] == '{' ? group() : atom();
  }
  std::string group() {
    ++at_;
    std::string content = row();
    if (at_ >= text_.size() || text_[at_] != '}') refuse();
    ++at_;
    return content;
  }

  std::string atom() {
    skip();
    if (at_ >= text_.size()) refuse();
    const char c = text_[at_];
    if (c == '{') return group();
    if (c == '\\') return command();
    if (is_digit(c)) return number();
    if (is_letter(c)) {
      ++at_;
      return element("mi", std::string(1, c));
    }
    if (c == '.') {
      ++at_;
      return element("mo", ".");
    }
    ++at_;
    return sign(std::string_view(&c, 1));
  }
  std::string number() {
    const std::size_t first = at_;
    const auto is_part = [&](char c) { return is_digit(c) || c == '.'; };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return element("mn", text_.substr(first, at_ - first));
  }
  std::string sign(std::string_view name) const {
    const auto* const found = std::ranges::find(signs, name, &Sign::name);
    if (found == signs.end()) refuse();
    if (found->element == "mspace") return "<mspace width=\"" + std::string(found->text) + "\"/>";
    return element(found->element, found->text);
  }

  std::string command() {
    const std::size_t first = ++at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    const std::string_view name = text_.substr(first, at_ - first);
    if (name == "frac") {
      const std::string above = argument();
      return element("mfrac", above + argument());
    }
    if (name == "sqrt") return element("msqrt", argument());
    if (name == "hat" || name == "tilde") return element("mover", argument() + element("mo", name == "hat" ? "^" : "~"));
    if (name == "underbrace") return element("munder", argument() + element("mo", "⏟"));
    if (name == "mathrm" || name == "text") return words(name == "text" ? "mtext" : "mi");
    if (name == "left") return fenced();
    return sign(name);
  }
  /// {letters} as text; browsers drop ordinary blanks at its ends.
  std::string words(std::string_view kind) {
    skip();
    const std::size_t end = text_.find('}', at_);
    if (at_ >= text_.size() || text_[at_] != '{' || end == std::string_view::npos) refuse();
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    std::string shown;
    for (const char c : html_escaped(content)) shown += c == ' ' ? std::string("&#160;") : std::string(1, c);
    return element(kind, shown);
  }
  /// \left( ... \right): signs that grow with their content.
  std::string fenced() {
    const std::string open = atom(), content = row();
    if (!follows("\\right")) refuse();
    at_ += std::string_view("\\right").size();
    return element("mrow", open + content + atom());
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<Decoded> next = decoded(text, at);
    const std::string_view c = next ? text.substr(at, next->bytes) : "?";
    result += c == "&" ? "&amp;" : c == "<" ? "&lt;" : c == ">" ? "&gt;" : c == "\"" ? "&quot;" : c;
    at += next ? next->bytes : 1;
  }
  return result;
}

std::string mathml(std::string_view formula, bool displayed) {
  Reader reader(formula);
  const std::string content = reader.row();
  if (!reader.done()) reader.refuse();
  return std::string(displayed ? "<math display=\"block\">" : "<math>") + content + "</math>";
}

}  // namespace attoscope::app
