/// The program's readers, each as one function of bytes: libFuzzer calls it with its own bytes, the suite with the kept ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::testing {

/// `load` reads bytes as the program would. It may succeed, or throw a sentence in a std::runtime_error or
/// std::invalid_argument; it throws std::logic_error if the sentence is none, or if the value read is wrong.
struct Loader {
  std::string_view name;
  void (*load)(std::string_view bytes);
  std::vector<std::string> (*seeds)();  ///< small texts that the program itself writes or reads
};

/// All of them.
std::span<const Loader> loaders();
/// The one of that name; null: there is none.
const Loader* loader(std::string_view name);

/// Throws std::logic_error with `what` unless `holds`.
void expect_that(bool holds, const std::string& what);

/// Runs `read`; if it refuses, the reason must be one printable sentence.
void refused_in_a_sentence(void (*read)(std::string_view), std::string_view bytes);

// The functions of the table.
void load_tensor_files(std::string_view bytes);
void load_kernel_outputs(std::string_view bytes);
void load_judged_calls(std::string_view bytes);
void load_archives(std::string_view bytes);
void load_torch_files(std::string_view bytes);
void load_gguf_files(std::string_view bytes);
void load_folders(std::string_view bytes);
void load_parts_of_calls(std::string_view bytes);
void load_npy_numbers(std::string_view bytes);
void load_sessions(std::string_view bytes);
void load_figures(std::string_view bytes);
void load_zips(std::string_view bytes);
void load_packs(std::string_view bytes);
void load_checkpoints(std::string_view bytes);
void load_points(std::string_view bytes);
void load_command_texts(std::string_view bytes);
void load_lessons(std::string_view bytes);
void load_expressions(std::string_view bytes);
void load_links(std::string_view bytes);
void compute_experiment(std::string_view bytes);

std::vector<std::string> tensor_files();
std::vector<std::string> kernel_outputs();
std::vector<std::string> judged_calls();
std::vector<std::string> archives();
std::vector<std::string> torch_files();
std::vector<std::string> gguf_files();
std::vector<std::string> folders();
std::vector<std::string> parts_of_calls();
std::vector<std::string> npy_numbers();
std::vector<std::string> session_texts();
std::vector<std::string> figure_texts();
std::vector<std::string> zip_archives();
std::vector<std::string> packs();
std::vector<std::string> checkpoints();
std::vector<std::string> point_texts();
std::vector<std::string> command_texts();
std::vector<std::string> lesson_texts();
std::vector<std::string> expressions();
std::vector<std::string> links();
std::vector<std::string> experiment_bytes();

}  // namespace attoscope::testing
