// standard_output: prints to stdout, and reports output that cannot be written.
#pragma once

#include "tools/failure.hpp"

#include <string_view>

namespace coracle::tools {

// Output could not be written, for example because the disk is full.
class output_failure : public failure {
 public:
  explicit output_failure(int error);
  // The reader has closed the pipe, as `head` does; this needs no error message.
  [[nodiscard]] bool reader_closed() const noexcept { return reader_closed_; }

 private:
  bool reader_closed_;
};

// Writes `text` at once, after everything printed before. Throws output_failure.
void print(std::string_view text);
// Flushes what std::printf has printed. Throws output_failure, also for output that was lost earlier.
void flush_output();

}  // namespace coracle::tools
