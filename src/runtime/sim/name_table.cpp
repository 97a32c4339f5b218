#include "runtime/sim/name_table.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/sim.hpp"

#include <arpa/inet.h>
#include <algorithm>
#include <string>

namespace coracle::sim {

namespace {

// RFC 4343: names are compared without regard to the case of ASCII letters.
std::string canonical(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string text(name);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

runtime_internal::raw_address raw_of(const name_record::ip& a) {
  endpoint e;
  e.kind = a.v6 ? endpoint::family::ipv6 : endpoint::family::ipv4;
  e.ip = a.bytes;
  return to_raw(e);
}

}  // namespace

void name_table::set(std::string_view name, const name_record& record) {
  records_.insert_or_assign(canonical(name), record);
}

runtime_internal::name_answer name_table::resolve_name(std::string_view name, const endpoint* host) const {
  runtime_internal::name_answer answer;
  const auto found = records_.find(canonical(name));
  answer.after = found == records_.end() ? name_record().latency() : found->second.latency();
  if (found != records_.end()) {
    for (const name_record::ip& a : found->second.addresses()) answer.addresses.push_back(raw_of(a));
    if (found->second.failing()) answer.result = runtime_internal::name_answer::outcome::failed;
  } else if (host) {
    answer.addresses.push_back(to_raw(*host));
  }
  if (answer.result != runtime_internal::name_answer::outcome::failed && !answer.addresses.empty())
    answer.result = runtime_internal::name_answer::outcome::found;
  return answer;
}

name_record& name_record::address(std::string_view literal) {
  const std::string text(literal);
  ip one;
  one.v6 = text.find(':') != std::string::npos;
  CORACLE_ASSERT(::inet_pton(one.v6 ? AF_INET6 : AF_INET, text.c_str(), one.bytes.data()) == 1,
                 "a name_record requires IP addresses: write 10.0.0.1 or fd00::1");
  addresses_.push_back(one);
  return *this;
}

}  // namespace coracle::sim
