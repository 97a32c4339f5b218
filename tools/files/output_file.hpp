// output_file: the destination of one kind of results, a file or the standard output.
#pragma once

#include <string>

namespace coracle::tools {

// Opened before the run, so that a file that cannot be written is reported at once; its previous content
// stays until there is something to write. A file that was created but not written is removed.
class output_file {
 public:
  // "" discards the results, "-" is the standard output. Throws failure.
  explicit output_file(std::string path);
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file();

  [[nodiscard]] bool requested() const noexcept { return !path_.empty(); }
  [[nodiscard]] bool to_stdout() const noexcept { return path_ == "-"; }
  // Call it once. Throws failure.
  void write(const std::string& text);

 private:
  std::string path_;
  int descriptor_ = -1;
  bool created_unused_ = false;
};

}  // namespace coracle::tools
