#include "rpc/client_head.hpp"

#include "coracle/base/version.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/grpc/timeout.hpp"
#include "rpc/accepted_encodings.hpp"
#include "rpc/subtype.hpp"
#include "rpc/wire_metadata.hpp"

#include <string>

namespace coracle::calls {

const std::string& library_user_agent() {
  static const std::string text = std::string("grpc-c++20-coracle/") + version_text;
  return text;
}

bool send_client_head(transport::exchange& to, const call_target& target, const call_terms& terms,
                      unsigned previous_attempts, const coracle::metadata* more) {
  if (!to.begin_headers()) return false;
  to.add_field(":method", "POST");
  to.add_field(":scheme", target.scheme);
  to.add_field(":path", terms.path);
  to.add_field(":authority", target.authority);
  to.add_field("te", "trailers");
  const std::string_view form = terms.options.content_subtype();
  if (form.empty()) to.add_field("content-type", "application/grpc");
  else to.add_field("content-type", content_type_of(form));
  const auto& packing = terms.options.compression();
  if (packing && packing->what() != encoding::identity && available(packing->what()))
    to.add_field("grpc-encoding", name_of(packing->what()));
  to.add_field("grpc-accept-encoding", accepted_encodings_text(terms.options.accepted_encodings()));
  to.add_field("user-agent", target.user_agent.empty() ? library_user_agent() : target.user_agent);
  if (terms.deadline != never) {
    const auto text = protocol::grpc::format_timeout(terms.deadline - terms.home->now());
    to.add_field("grpc-timeout", text.view(), false);
  }
  if (previous_attempts > 0) {
    const char digit = static_cast<char>('0' + previous_attempts);
    to.add_field("grpc-previous-rpc-attempts", std::string_view(&digit, 1));
  }
  const auto add = [&](std::string_view name, std::string_view value) { to.add_field(name, value); };
  // What the attempt says itself: a trace's span, as a rule.
  const auto is_said = [&](std::string_view name) { return more && more->find(name); };
  for_each_wire_field(terms.options.metadata(), [&](std::string_view name, std::string_view value) {
    if (!is_said(name)) add(name, value);
  });
  // Other values with every call: of no use in the peer's table.
  for_each_wire_field(terms.carried, [&](std::string_view name, std::string_view value) {
    if (!is_said(name)) to.add_field(name, value, false);
  });
  if (more) for_each_wire_field(*more, add);
  to.end_headers(false);
  return true;
}

}  // namespace coracle::calls
