// Frames of a malicious client, as octets, which our clients never send.
#pragma once

#include <string>

namespace coracle::testing_support::raw_frames {

using namespace std::string_literals;

inline constexpr char data = 0;
inline constexpr char headers = 1;
inline constexpr char rst_stream = 3;
inline constexpr char settings = 4;
inline constexpr char ping = 6;
inline constexpr char goaway = 7;
inline constexpr char continuation = 9;
inline constexpr char end_stream = 1;
inline constexpr char ack = 1;
inline constexpr char end_headers = 4;

inline std::string frame(char kind, char flags, int stream, const std::string& payload) {
  std::string f;
  for (const int shift : {16, 8, 0}) f += static_cast<char>(payload.size() >> shift & 0xff);
  f += kind;
  f += flags;
  for (const int shift : {24, 16, 8, 0}) f += static_cast<char>(stream >> shift & 0xff);
  return f + payload;
}

inline std::string literal(const std::string& name, const std::string& value) {
  return "\0"s + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

// The preface, SETTINGS, and the acknowledgement of the server's SETTINGS.
inline std::string greeting(const std::string& own_settings = {}) {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settings, 0, 0, own_settings) +
         frame(settings, ack, 0, "");
}

// The headers of a gRPC call.
inline std::string head(const std::string& path, int stream) {
  return frame(headers, end_headers, stream,
               literal(":method", "POST") + literal(":scheme", "http") + literal(":path", path) +
                   literal(":authority", "h") + literal("te", "trailers") +
                   literal("content-type", "application/grpc"));
}

// The start of a message of `whole` bytes: its prefix and the first `sent` of them, in frames of 16,000.
inline std::string part_of_message(int stream, std::size_t whole, std::size_t sent) {
  std::string body = "\0"s;
  for (const int shift : {24, 16, 8, 0}) body += static_cast<char>(whole >> shift & 0xff);
  body += std::string(sent, 'x');
  std::string frames;
  for (std::size_t at = 0; at < body.size(); at += 16'000)
    frames += frame(data, 0, stream, body.substr(at, 16'000));
  return frames;
}

}  // namespace coracle::testing_support::raw_frames
