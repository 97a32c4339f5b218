// metadata_carrier: the metadata of a call, as propagators of opentelemetry-cpp read and write them.
#pragma once

#include "coracle/rpc/metadata.hpp"

#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/nostd/function_ref.h>
#include <opentelemetry/nostd/string_view.h>

#include <new>
#include <string_view>

namespace coracle::opentelemetry_internal {

namespace nostd = ::opentelemetry::nostd;

[[nodiscard]] inline nostd::string_view text(std::string_view of) noexcept { return {of.data(), of.size()}; }
[[nodiscard]] inline std::string_view text(nostd::string_view of) noexcept { return {of.data(), of.size()}; }

// Reads and writes metadata, which outlive it. Keys that end in "-bin" have any bytes as their values.
class metadata_carrier final : public ::opentelemetry::context::propagation::TextMapCarrier {
 public:
  explicit metadata_carrier(metadata& of) noexcept : of_(of), to_(&of) {}
  explicit metadata_carrier(const metadata& of) noexcept : of_(of) {}
  [[nodiscard]] nostd::string_view Get(nostd::string_view key) const noexcept override {
    return text(of_.find(text(key)).value_or(std::string_view()));
  }
  // Without memory, and if metadata cannot have the pair, it is left out.
  void Set(nostd::string_view key, nostd::string_view value) noexcept override {
    if (!to_) return;
    try {
      // A program may not add keys that begin with "grpc-"; this one is for tracers.
      if (text(key) == "grpc-trace-bin") to_->add_received(text(key), text(value));
      else to_->add(text(key), text(value));
    } catch (const std::bad_alloc&) {
    }
  }
  bool Keys(nostd::function_ref<bool(nostd::string_view)> visit) const noexcept override {
    for (const auto& [key, value] : of_)
      if (!visit(text(key))) return false;
    return true;
  }

 private:
  const metadata& of_;
  metadata* to_ = nullptr;
};

}  // namespace coracle::opentelemetry_internal
