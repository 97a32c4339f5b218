// Requests and responses that tests read whole and octet by octet.
#pragma once

#include "unit/http1/transcript.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>

namespace coracle::http1::testing {

// Whole and octet by octet, which have to be the same.
template <class Transcript, class... Arguments>
std::string transcript(std::string_view bytes, const Arguments&... arguments) {
  const std::string whole = transcript_of<Transcript>(bytes, bytes.size() + 1, arguments...);
  EXPECT_EQ(transcript_of<Transcript>(bytes, 1, arguments...), whole) << bytes;
  return whole;
}

inline std::string serve(std::string_view bytes, const limits& l = {}) {
  return transcript<server_transcript>(bytes, l);
}
inline std::string receive(std::string_view bytes, const limits& l = {}, std::string_view method = "GET") {
  return transcript<client_transcript>(bytes, l, method);
}

// A request for / with these further header lines, and what follows the headers.
inline std::string get(std::string_view lines, std::string_view rest = {}) {
  return "GET / HTTP/1.1\r\nHost: h\r\n" + std::string(lines) + "\r\n" + std::string(rest);
}
inline std::string post(std::string_view lines, std::string_view rest = {}) {
  return "POST / HTTP/1.1\r\nHost: h\r\n" + std::string(lines) + "\r\n" + std::string(rest);
}
inline std::string post_chunks(std::string_view body) { return post("Transfer-Encoding: chunked\r\n", body); }

inline constexpr std::string_view got = "headers[:method=GET, :authority=h, :path=/";
inline constexpr std::string_view posted = "headers[:method=POST, :authority=h, :path=/";

}  // namespace coracle::http1::testing
