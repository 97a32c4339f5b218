// call_printer: prints the events of `call -v` to stderr, and the end of a call.
#pragma once

#include "tools/endpoint.hpp"
#include "tools/schema/schema.hpp"

#include <coracle/base/status.hpp>
#include <coracle/rpc/metadata.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::tools {

// "00 ff ", for bytes of -bin fields.
[[nodiscard]] std::string hex_text(std::string_view bytes);
// One line for each field, prefixed with `before`; values of -bin names are in hexadecimal.
[[nodiscard]] std::string metadata_text(const metadata& of, const char* before);

class call_printer {
 public:
  // How the end of a call that failed is printed: for people, or as one line of JSON.
  enum class format : bool { human, json };
  explicit call_printer(bool verbose, format f = format::human) noexcept : verbose_(verbose), format_(f) {}

  void print_begin(const endpoint& where, const google::protobuf::MethodDescriptor& method,
                   const metadata& sent);
  void print_sent(std::size_t bytes);
  void print_headers(const metadata& headers);
  void print_received(std::size_t bytes);
  // Always prints a status that is not OK, with its details as far as their types are known.
  void print_end(const status& outcome, const metadata& trailers, schema& types, const endpoint& where);

 private:
  [[nodiscard]] double ms() const;
  bool verbose_;
  format format_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace coracle::tools
