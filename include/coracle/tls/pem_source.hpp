// pem_source: PEM text, or the path of a PEM file.
#pragma once

#include <string>
#include <utility>

namespace coracle::tls {

/// PEM text, or the path of a file that holds it. The file is read when credentials are built and again when
/// it has changed, including replacement by rename and by the symbolic links of Kubernetes. Changes are
/// detected when a connection is made or accepted, at most once per second.
class pem_source {
 public:
  [[nodiscard]] static pem_source text(std::string pem) { return {std::move(pem), false}; }
  [[nodiscard]] static pem_source file(std::string path) { return {std::move(path), true}; }

  [[nodiscard]] bool is_file() const noexcept { return is_file_; }
  /// Returns the path if is_file(), else the text.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }
  friend bool operator==(const pem_source&, const pem_source&) = default;

 private:
  pem_source(std::string value, bool is_file) noexcept : value_(std::move(value)), is_file_(is_file) {}
  std::string value_;
  bool is_file_;
};

}  // namespace coracle::tls
