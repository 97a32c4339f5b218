// standard_output: what commands print, none of which may be lost without a word.
#pragma once

#include "tools/failure.hpp"

#include <string_view>

namespace coracle::tools {

// As a shell says of what SIGPIPE has ended: 128 and the signal's number.
inline constexpr int exit_reader_gone = 141;

// Of output that cannot be written: the disk is full, say.
class output_failure : public failure {
 public:
  explicit output_failure(int error);
  // Whoever read it has left, as `head` does: nobody has to be told.
  [[nodiscard]] bool reader_gone() const noexcept { return reader_gone_; }

 private:
  bool reader_gone_;
};

// At once, with what was printed before. Throws output_failure.
void print(std::string_view text);
// What std::printf has printed. Throws output_failure, also for what was lost earlier.
void flush_output();

}  // namespace coracle::tools
