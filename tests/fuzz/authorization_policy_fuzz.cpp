// Authorization policies: a path, the name of a client and the value of a header, one line each, and then a
// policy. A valid policy decides, and in the same way when it is written differently.
#include "server/authorization/policy_document.hpp"
#include "unit/server/authorization/call_of_test.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::server_internal;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool admits(const policy_rules& by, const call_of_test& call) {
  return (!by.denied || by.denied->decide(call.facts()).authorized) &&
         by.allowed.decide(call.facts()).authorized;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  call_of_test plain;
  plain.path = take_line(text);
  const std::string name(take_line(text));
  plain.headers.add("x", take_line(text));

  const auto policy = parse_policy(text);
  if (!policy) {
    require(policy.status().code() == status_code::invalid_argument && !policy.status().message().empty());
    return 0;
  }
  require(!policy->name.empty() && !policy->allowed.rules.empty());
  call_of_test secured = plain;
  secured.use_tls().peer_verified(true).subject("CN=" + name);
  call_of_test named = secured;
  named.auth->identities({{peer_identity::kind::uri, name}});
  const auto again = parse_policy(nlohmann::json::parse(text).dump(1));
  require(again.ok());
  for (const call_of_test* call : {&plain, &secured, &named})
    require(admits(*policy, *call) == admits(*again, *call));
  return 0;
}
