// string_ref: text that belongs to something else.
#pragma once

#include <grpcpp/support/config.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>

namespace grpc {

/// Refers to characters, which need not end with a null character; valid as long as their owner keeps them.
class string_ref {
 public:
  using const_iterator = const char*;
  using const_reverse_iterator = std::reverse_iterator<const_iterator>;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  string_ref() = default;
  string_ref(const char* text) : data_(text), length_(std::strlen(text)) {}  // NOLINT
  string_ref(const char* text, std::size_t length) : data_(text), length_(length) {}
  string_ref(const std::string& text) : data_(text.data()), length_(text.size()) {}  // NOLINT
  string_ref(const string_ref&) = default;
  string_ref& operator=(const string_ref&) = default;

  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + length_; }
  const_iterator cbegin() const { return begin(); }
  const_iterator cend() const { return end(); }
  const_reverse_iterator rbegin() const { return const_reverse_iterator(end()); }
  const_reverse_iterator rend() const { return const_reverse_iterator(begin()); }
  const_reverse_iterator crbegin() const { return rbegin(); }
  const_reverse_iterator crend() const { return rend(); }

  const char* data() const { return data_; }
  std::size_t size() const { return length_; }
  std::size_t length() const { return length_; }
  std::size_t max_size() const { return length_; }
  bool empty() const { return length_ == 0; }

  int compare(string_ref other) const { return view().compare(other.view()); }
  bool starts_with(string_ref start) const { return view().substr(0, start.length_) == start.view(); }
  bool ends_with(string_ref end) const {
    return length_ >= end.length_ && view().substr(length_ - end.length_) == end.view();
  }
  std::size_t find(string_ref text) const { return view().find(text.view()); }
  std::size_t find(char c) const { return view().find(c); }
  string_ref substr(std::size_t pos, std::size_t n = npos) const {
    pos = std::min(pos, length_);
    return {data_ + pos, std::min(n, length_ - pos)};
  }

  friend bool operator==(string_ref a, string_ref b) { return a.compare(b) == 0; }
  friend bool operator!=(string_ref a, string_ref b) { return a.compare(b) != 0; }
  friend bool operator<(string_ref a, string_ref b) { return a.compare(b) < 0; }
  friend bool operator>(string_ref a, string_ref b) { return a.compare(b) > 0; }
  friend bool operator<=(string_ref a, string_ref b) { return a.compare(b) <= 0; }
  friend bool operator>=(string_ref a, string_ref b) { return a.compare(b) >= 0; }
  friend std::ostream& operator<<(std::ostream& out, string_ref s) { return out << s.view(); }

 private:
  std::string_view view() const { return {data_, length_}; }
  const char* data_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace grpc
