// output_file: where one of the results goes, a file or the standard output.
#pragma once

#include <string>

namespace coracle::tools::load {

// Opened before the run, so that nobody waits for results that cannot be written; what the file has held so far stays
// until there is something to write. A file that was made for nothing is removed again.
class output_file {
 public:
  // Nowhere for "", the standard output for "-". Throws failure.
  explicit output_file(std::string path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  [[nodiscard]] bool wanted() const noexcept { return !path_.empty(); }
  [[nodiscard]] bool to_stdout() const noexcept { return path_ == "-"; }
  // Once. Throws failure.
  void write(const std::string& text);

 private:
  std::string path_;
  int descriptor_ = -1;
  bool made_for_nothing_ = false;
};

}  // namespace coracle::tools::load
