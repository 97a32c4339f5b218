// http_printer: prints the header fields of HTTP to stderr, for `call -v`.
#pragma once

#include <coracle/client/http_observer.hpp>

#include <atomic>

namespace coracle::tools {

// Prints nothing until begin(), so that the calls of reflection do not appear.
class http_printer final : public http_observer {
 public:
  void begin() noexcept { begun_ = true; }
  void request_headers(const http::header_list& fields, http_version version) noexcept override;
  void response_headers(const http::header_list& fields, http_version version) noexcept override;

 private:
  std::atomic<bool> begun_ = false;
};

}  // namespace coracle::tools
