// json_stream: splits a body into the messages of a stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::protocol::rest {

// Whether a media type, without its parameters and in any case, is application/x-ndjson or application/jsonl.
[[nodiscard]] bool is_json_lines(std::string_view media_type) noexcept;

// The messages are JSON values on lines of their own, or the elements of one array. Only brackets and texts
// are looked at here; the caller parses the values. The text that has not been split grows with what is
// appended: its owner limits it.
class json_stream {
 public:
  void append(std::string_view bytes) { text_.append(bytes); }
  // What is not part of a complete value yet.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // Forgets the text, for bodies that are not split.
  void clear() noexcept { text_.clear(); }

  // Calls f(value) for each value that is complete; the view is borrowed for the call. With `at_end`, the
  // last line may have no line feed. Returns false if the body is neither lines nor an array.
  template <class F>
  bool read(bool at_end, F f) {
    std::size_t begin = 0;
    for (std::string_view value; next(begin, value);) f(value);
    if (malformed_) return false;
    text_.erase(0, begin);
    scanned_bytes_ = text_.size();
    if (!at_end) return true;
    if (in_text_ || depth_ != 0 || (in_array_ && !array_ended_)) return false;
    if (const std::string_view last = trimmed(text_); !array_ended_ && !last.empty()) f(last);
    text_.clear();
    return true;
  }

 private:
  static std::string_view trimmed(std::string_view text) noexcept;
  // Finds the next value that is complete, and moves `begin` behind it.
  bool next(std::size_t& begin, std::string_view& value) noexcept;

  std::string text_;
  std::size_t scanned_bytes_ = 0;  // of text_
  std::size_t depth_ = 0;  // of objects and arrays, at scanned_bytes_
  bool in_text_ = false;
  bool escaped_ = false;
  bool in_array_ = false;
  bool array_ended_ = false;
  bool malformed_ = false;
};

}  // namespace coracle::protocol::rest
