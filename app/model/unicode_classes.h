/// Classes of characters that tokenizers tell apart.
#pragma once

namespace attoscope {

/// \p{L}, \p{N} and \s of regular expressions.
bool is_letter(char32_t c);
bool is_number(char32_t c);
bool is_space(char32_t c);

}  // namespace attoscope
