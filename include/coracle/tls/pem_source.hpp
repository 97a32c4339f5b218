// pem_source: PEM text, or the file that holds it.
#pragma once

#include <string>
#include <utility>

namespace coracle::tls {

// A file is read when credentials are built, and again when it has changed (rename-over and the symbolic links of
// Kubernetes included), looked at when a connection comes, at most once a second.
class pem_source {
 public:
  [[nodiscard]] static pem_source text(std::string pem) { return {std::move(pem), false}; }
  [[nodiscard]] static pem_source file(std::string path) { return {std::move(path), true}; }

  [[nodiscard]] bool is_file() const noexcept { return is_file_; }
  // The path, or the text itself.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  friend bool operator==(const pem_source&, const pem_source&) = default;

 private:
  pem_source(std::string value, bool is_file) noexcept : value_(std::move(value)), is_file_(is_file) {}
  std::string value_;
  bool is_file_;
};

}  // namespace coracle::tls
