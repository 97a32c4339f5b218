// The input of the compression tests, and the encodings that this build supports.
#pragma once

#include "compress/coder.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace coracle::compress {

inline std::vector<encoding> encodings_here() {
  std::vector<encoding> all;
  for (std::size_t i = 1; i < encoding_count; ++i)
    if (available(static_cast<encoding>(i))) all.push_back(static_cast<encoding>(i));
  return all;
}

inline std::string repeated(std::size_t n) {
  std::string text;
  while (text.size() < n) text += "a coracle is a small light boat; ";
  text.resize(n);
  return text;
}

inline std::string noise(std::size_t n) {
  std::mt19937 random(1);
  std::string text(n, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

class each_encoding : public testing::TestWithParam<encoding> {
 protected:
  [[nodiscard]] coder& one() { return *coders_.of(GetParam()); }
  std::string packed(std::string_view from, int level = compression::level_default) {
    base::output_buffer to;
    EXPECT_TRUE(one().compress(as_bytes(from), level, to));
    return std::string(as_text(to.pending()));
  }
  decompress_result decompress(std::string_view from, std::size_t max_bytes, std::string& to) {
    base::output_buffer out;
    const decompress_result outcome = one().decompress(as_bytes(from), max_bytes, out);
    to = as_text(out.pending());
    return outcome;
  }
  coders coders_;
};

inline std::string encoding_name(const testing::TestParamInfo<encoding>& info) {
  return std::string(name_of(info.param));
}

}  // namespace coracle::compress

namespace coracle {
inline void PrintTo(encoding e, std::ostream* out) { *out << name_of(e); }
inline void PrintTo(compress::decompress_result u, std::ostream* out) { *out << static_cast<int>(u); }
}  // namespace coracle
