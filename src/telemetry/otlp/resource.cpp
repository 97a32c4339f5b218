#include "telemetry/otlp/resource.hpp"

#include "coracle/base/version.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/this_process.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

namespace {

// A random UUID (RFC 9562 5.4). It distinguishes the instances of a service, which needs no secrecy.
std::string random_uuid(runtime& on) {
  std::string text;
  std::uint64_t bits = 0;
  for (int i = 0; i < 16; ++i, bits >>= 8) {
    constexpr std::string_view digits = "0123456789abcdef";
    if (i % 8 == 0) bits = on.at(0).io().random();
    std::uint64_t b = bits & 0xff;
    if (i == 6) b = (b & 0x0f) | 0x40;
    if (i == 8) b = (b & 0x3f) | 0x80;
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[b >> 4];
    text += digits[b & 15];
  }
  return text;
}

}  // namespace

text_attributes resource_attributes(runtime& on, const text_attributes& own) {
  text_attributes all{{"service.name", "unknown_service:" + runtime_internal::program_name()},
                      {"service.instance.id", random_uuid(on)},
                      {"telemetry.sdk.name", "coracle"},
                      {"telemetry.sdk.language", "cpp"},
                      {"telemetry.sdk.version", std::string(version_text)},
                      {"process.pid", std::to_string(runtime_internal::process_id())}};
  if (std::string name = runtime_internal::host_name(); !name.empty())
    all.emplace_back("host.name", std::move(name));
  for (const auto& [key, value] : own) {
    const auto at = std::ranges::find(all, key, &text_attributes::value_type::first);
    if (at == all.end()) all.emplace_back(key, value);
    else at->second = value;
  }
  return all;
}

}  // namespace coracle::telemetry_internal
