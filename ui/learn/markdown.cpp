// Markdown with formulas on screen, drawn by imgui_rich_md and MicroTeX in the fonts of the program.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>

#include "imgui_internal.h"
#include "imgui_rich_md/backends/latex/rich_md_latex.h"
#include "imgui_rich_md/rich_md.h"
#include "ui/learn/learn_state.h"
#include "ui/toolkit/formula_check.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr float reading_size = 16;     ///< em of the text at UI scale 1
constexpr float formula_size = 0.92f;  ///< share of a line of text: letters of formulas are as high as the text's
constexpr std::string_view number_tag = "num";

/// A formula within Markdown: `$...$`, or `$$...$$` if it is displayed.
struct FormulaPlace {
  std::size_t begin = 0, end = 0;  ///< with its dollar signs
  std::string formula;             ///< without dollar signs
  bool displayed = false;
};

/// The bytes of source `index` of a font that the program has loaded.
RichMd::AssetBytes bytes_of(const ImFont* font, int index) {
  if (font == nullptr || index >= font->Sources.Size || font->Sources[index]->FontData == nullptr) return std::nullopt;
  const ImFontConfig& source = *font->Sources[index];
  const auto* const data = static_cast<const std::uint8_t*>(source.FontData);
  return std::vector<std::uint8_t>(data, data + source.FontDataSize);
}

/// The program's fonts under the names that imgui_rich_md requests; fonts of formulas are embedded in the program.
RichMd::AssetBytes font_asset(const std::string& path) {
  const Fonts f = fonts();
  if (path == "signs") return bytes_of(f.sans, 1);
  if (path.find("Inconsolata") != std::string::npos) return bytes_of(f.mono, 0);
  if (path.find("-Regular.") != std::string::npos) return bytes_of(f.sans, 0);
  if (path.find("-RegularItalic.") != std::string::npos) return bytes_of(f.italic, 0);
  if (path.find("-Bold") != std::string::npos) return bytes_of(f.semibold, 0);
  return RichMd::ReadAssetDefault(path);
}

/// Loads the fonts of formulas once. False if they are missing.
bool can_draw_formulas() {
  if (RichMd::Latex::IsInitialized()) return true;
  const auto metrics = RichMd::ReadAssetDefault("fonts/latex/latinmodern-math.clm1"),
             font = RichMd::ReadAssetDefault("fonts/latex/latinmodern-math.otf");
  if (!metrics || !font) return false;
  RichMd::Latex::InitFromMemory(*metrics, *font);
  return true;
}

/// True if all braces are closed; the parser does not report open ones at the end.
bool braces_match(std::string_view formula) {
  int open = 0;
  for (std::size_t i = 0; i < formula.size() && open >= 0; ++i) {
    if (formula[i] == '\\')
      ++i;
    else if (formula[i] == '{')
      ++open;
    else if (formula[i] == '}')
      --open;
  }
  return open == 0;
}

/// The pixels, with one more empty column if their number is odd: a centred picture then begins at a whole pixel.
std::vector<std::uint8_t> with_even_width(const RichMd::Latex::RenderedFormula& f) {
  const auto row = static_cast<std::ptrdiff_t>(f.Width) * 4;
  std::vector<std::uint8_t> pixels;
  for (auto at = f.Pixels.begin(); at != f.Pixels.end(); at += row) {
    pixels.insert(pixels.end(), at, at + row);
    if (f.Width % 2 != 0) pixels.insert(pixels.end(), 4, 0);
  }
  return pixels;
}

/// A formula as a picture, or MicroTeX's error.
std::optional<RichMd::LatexBitmap> formula_picture(const std::string& formula, float size, ImU32 colour, bool displayed) {
  RichMd::LatexBitmap picture;
  try {
    if (!can_draw_formulas()) return std::nullopt;
    if (const std::string error = braces_match(formula) ? formula_error(formula) : "its braces do not match"; !error.empty())
      throw std::invalid_argument(error);
    const auto style = displayed ? RichMd::Latex::TexStyle::Display : RichMd::Latex::TexStyle::Text;
    RichMd::Latex::RenderedFormula drawn = RichMd::Latex::Render(formula, size * formula_size, colour, style);
    picture.rgba = displayed ? with_even_width(drawn) : std::move(drawn.Pixels);
    picture.width = displayed ? drawn.Width + drawn.Width % 2 : drawn.Width;
    picture.height = drawn.Height;
    picture.baselineY = drawn.BaselineY;
  } catch (const std::exception& error) {
    picture.error = error.what();
  }
  while (picture.error.ends_with('!') || picture.error.ends_with('.')) picture.error.pop_back();
  return picture;
}

/// MicroTeX's error for a formula; empty: it can be drawn, and is `width` pixels wide.
std::string complaint_about(const FormulaPlace& f, float& width) {
  width = 0;
  for (const std::string_view refused : {"\\def", "\\newcommand", "\\renewcommand", "\\newenvironment", "\\renewenvironment"})
    if (f.formula.find(refused) != std::string::npos) return std::string(refused) + " is not allowed in lessons";
  const auto picture = formula_picture(f.formula, px(reading_size * sans_line), IM_COL32_WHITE, f.displayed);
  if (!picture) return "its fonts are missing";
  width = static_cast<float>(picture->width);
  return picture->error;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The place after the code span that begins at `at`; if the span never ends, the place after its backticks.
std::size_t behind_code(std::string_view text, std::size_t at) {
  const std::size_t length = std::min(text.find_first_not_of('`', at), text.size()) - at;
  for (std::size_t next = text.find('`', at + length); next != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of('`', next), text.size());
    if (end - next == length) return end;
    next = text.find('`', end);
  }
  return at + length;
}

/// The end of the formula that opens at `at` with `signs` dollars; npos: it is no formula.
std::size_t closing(std::string_view text, std::size_t at, std::size_t signs) {
  const std::size_t first = at + signs;
  if (signs == 1 && (first >= text.size() || is_blank(text[first]))) return std::string_view::npos;
  for (std::size_t i = first; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] == '\n') {
      break;
    } else if (text[i] == '$' && text.substr(i, signs) == std::string_view("$$", signs) &&
               (signs == 2 || !is_blank(text[i - 1]))) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// The width in pixels of the text up to the next blank: punctuation stays on the line of the formula before it.
float width_of_word(std::string_view text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n<"));
  return ImGui::CalcTextSize(word.data(), word.data() + word.size()).x;
}

/// Begins a new line unless the next item, `width` pixels wide, fits. An empty item begins every line and fixes its place.
void begin_in_line(float width) {
  const auto goes_on = [] { return ImGui::GetCurrentWindow()->DC.IsSameLine; };
  if (goes_on() && width > ImGui::GetContentRegionAvail().x) ImGui::NewLine();
  if (goes_on()) return;
  ImGui::Dummy({0, 0});
  ImGui::SameLine(0, 0);
}

/// Tag before an inline formula: `<line40/>` if the formula and the word attached to it are 40 pixels wide.
constexpr std::string_view line_tag = "line";

std::vector<FormulaPlace> formulas_of(std::string_view text) {
  std::vector<FormulaPlace> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t signs = text.substr(at, 2) == "$$" ? 2 : 1;
    const std::size_t end = text[at] == '$' ? closing(text, at, signs) : std::string_view::npos;
    if (end != std::string_view::npos) {
      found.push_back({at, end + signs, std::string(text.substr(at + signs, end - at - signs)), signs == 2});
      at = end + signs;
    } else {
      at = text[at] == '\\' ? at + 2 : text[at] == '`' ? behind_code(text, at) : at + signs;
    }
  }
  return found;
}

}  // namespace

/// imgui_rich_md's context, and the number callback of this frame.
struct MarkdownText::Renderer {
  Renderer() {
    RichMd::HostServices services;
    services.ReadAsset = font_asset;
    services.RenderLatex = formula_picture;
    RichMd::SetHostServices(services);
    RichMd::MarkdownOptions options;
    options.fontOptions.regularSize = reading_size * sans_line;
    if (bytes_of(fonts().sans, 1)) options.fontOptions.mergeFonts = {"signs"};
    options.withLatex = true;
    options.callbacks.OnOpenLink = [](const std::string& address) { ImGui::SetClipboardText(address.c_str()); };
    options.callbacks.OnImage = [](const std::string&) { return std::nullopt; };
    options.callbacks.OnHtmlSpan = [this](const std::string& tag, bool opening) { return take(tag, opening); };
    const ImVector<ImFont*> before = ImGui::GetIO().Fonts->Fonts;
    context = RichMd::CreateContext(options);
    for (ImFont* font : ImGui::GetIO().Fonts->Fonts)
      if (!before.contains(font)) own_fonts.push_back(font);
  }
  ~Renderer() {
    RichMd::DestroyContext(context);
    for (ImFont* font : own_fonts) ImGui::GetIO().Fonts->RemoveFont(font);
  }
  Renderer(Renderer&&) = delete;

  /// Handles a tag; true if it is a live number's or an inline formula's.
  bool take(std::string_view tag, bool opening) const {
    if (const std::optional<int> wide = behind(line_tag, tag)) {
      if (opening) begin_in_line(static_cast<float>(*wide));
      return true;
    }
    const std::optional<int> index = number != nullptr ? behind(number_tag, tag) : std::nullopt;
    if (index && opening) (*number)(*index);
    return index.has_value();
  }

  /// The number behind a tag's name; nothing else may follow the name.
  static std::optional<int> behind(std::string_view name, std::string_view tag) {
    int value = -1;
    if (!tag.starts_with(name)) return std::nullopt;
    const auto [end, error] = std::from_chars(tag.data() + name.size(), tag.data() + tag.size(), value);
    if (error != std::errc() || end != tag.data() + tag.size()) return std::nullopt;
    return value;
  }

  RichMd::Context* context = nullptr;
  std::vector<ImFont*> own_fonts;  ///< fonts that the context added to the atlas; it does not remove them
  const std::function<void(int)>* number = nullptr;
};

MarkdownText::MarkdownText() : renderer_(std::make_unique<Renderer>()) {}
MarkdownText::~MarkdownText() = default;

std::string MarkdownText::fitted(std::string_view markdown, float width, std::vector<std::string>& problems) const {
  std::string text;
  std::size_t done = 0;
  for (const FormulaPlace& f : formulas_of(markdown)) {
    float needed = 0;
    const std::string complaint = complaint_about(f, needed);
    text += markdown.substr(done, f.begin - done);
    done = f.end;
    if (complaint.empty() && needed <= width) {
      if (!f.displayed)
        text += fmt::format("<{}{:.0f}/>", std::string(line_tag), std::ceil(needed + width_of_word(markdown.substr(f.end))));
      text += markdown.substr(f.begin, f.end - f.begin);
    } else if (complaint.empty()) {
      const std::string signs = f.displayed ? "$$" : "$", style = f.displayed ? "\\displaystyle " : "";
      text += signs + fmt::format("\\scalebox{{{:.2f}}}{{", std::floor(100 * width / needed) / 100) + style + f.formula + "}" +
              signs;
    } else {
      problems.push_back("The formula '" + f.formula + "' cannot be drawn: " + complaint + ".");
    }
  }
  return text + std::string(markdown.substr(done));
}

float MarkdownText::widest_formula(std::string_view markdown) const {
  float widest = 0, needed = 0;
  for (const FormulaPlace& f : formulas_of(markdown))
    if (f.displayed && complaint_about(f, needed).empty()) widest = std::max(widest, needed);
  return widest;
}

void MarkdownText::draw(const std::string& markdown, const std::function<void(int)>& number) {
  RichMd::SetCurrentContext(renderer_->context);
  RichMd::Style& style = RichMd::GetStyle();
  const auto colour = [](Colour c) { return ImGui::ColorConvertU32ToFloat4(c); };
  style.linkColor = style.linkUnderline = style.linkUnderlineHovered = colour(colours().accent);
  style.codeColor = colour(colours().text);
  style.quoteBar = colour(colours().line);
  style.blockGap = 0.5f;
  style.listItemGap = 0.2f;
  renderer_->number = &number;
  RichMd::RenderRaw(markdown);
  renderer_->number = nullptr;
}

bool inline_button(const std::string& text, Colour colour, std::string_view what, std::string_view formula) {
  const float ascent = ImGui::GetFontBaked()->Ascent;
  ImGui::PushFont(fonts().mono, std::max(size::mono * reading_size / size::body, line_height(Face::mono) / px(1)));
  const ImVec2 size = ImGui::CalcTextSize(text.c_str());
  begin_in_line(size.x);
  const float y = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(y + ascent - ImGui::GetFontBaked()->Ascent);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const bool pressed = ImGui::InvisibleButton("number", size, ImGuiButtonFlags_EnableNav);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddText({at.x, at.y + ImGui::GetCurrentWindow()->DC.CurrLineTextBaseOffset}, colour, text.data(),
                text.data() + text.size());
  if (ImGui::IsItemHovered()) {
    list->AddLine({at.x, at.y + size.y}, {at.x + size.x, at.y + size.y}, colour);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  }
  ImGui::PopFont();
  explain(what, formula);
  ImGui::SameLine(0, 0);
  ImGui::SetCursorPosY(y);
  return pressed;
}

}  // namespace attoscope::ui
