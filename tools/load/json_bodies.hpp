// json_bodies: the requests of another source as JSON text, for an endpoint that is not of gRPC.
#pragma once

#include "tools/load/request_source.hpp"

#include <coracle/base/bytes.hpp>

#include <cstdint>
#include <string>

namespace coracle::tools::load {

// The text is sent as it was written, with its own names of fields. The other source must outlive this
// object, and have JSON.
class json_bodies final : public request_source {
 public:
  explicit json_bodies(const request_source& of) noexcept : of_(of) {}

  [[nodiscard]] const std::string& path() const noexcept override { return of_.path(); }
  [[nodiscard]] call_kind kind() const noexcept override { return of_.kind(); }
  [[nodiscard]] std::uint32_t messages(const request_place& of) const override { return of_.messages(of); }
  [[nodiscard]] const bytes_message& message(const request_place& at, bytes_message& scratch) const override {
    scratch.assign(as_bytes(of_.json(at).value_or("{}")));
    return scratch;
  }

 private:
  const request_source& of_;
};

}  // namespace coracle::tools::load
