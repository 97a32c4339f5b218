#include "server/repeated_requests.hpp"

#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/wire_metadata.hpp"

#include <algorithm>

namespace coracle::server_internal {

namespace {

// Requests with more are not kept.
constexpr std::size_t metadata_bytes_max = 2048;
constexpr std::size_t authority_bytes_max = 256;

// Whether the value of each of these headers is that of one pair of the metadata, or the timeout. Two headers
// of a name, of which one varies, cannot be told apart.
bool can_replace(std::span<const transport::varying_name> headers, const metadata& received) {
  return std::all_of(headers.begin(), headers.end(), [&](const auto& header) {
    const auto has_name = [&](const auto& one) { return one.name == header.name; };
    if (std::count_if(headers.begin(), headers.end(), has_name) != 1) return false;
    int pairs = 0;
    for (const auto& [key, value] : received) pairs += key == header.name;
    return pairs == 1 || header.name == protocol::grpc::timeout_header;
  });
}

}  // namespace

bool repeated_request::copy_metadata(std::span<const transport::varying_field> varying, metadata& out) const {
  bool good = true;
  const auto add = [&](std::string_view key, std::string_view value) { out.add_received(key, value); };
  for (const auto& [key, value] : received.get()) {
    const auto own =
        std::find_if(varying.begin(), varying.end(), [&](const auto& f) { return f.name == key; });
    if (own == varying.end()) add(key, value);
    else if (!protocol::grpc::is_binary_key(key)) add(key, own->value);
    else if (!protocol::grpc::read_wire_field(key, own->value, add)) good = false;
  }
  return good;
}

void repeated_requests::keep(std::unique_ptr<transport::header_cache>& all,
                             const transport::header_source& headers, const call_request& request,
                             const received_metadata& received) {
  if (find(all.get(), headers.number()) || received.get().capacity_bytes() > metadata_bytes_max ||
      request.other_authority.size() > authority_bytes_max || !can_replace(headers.varying(), received.get()))
    return;
  auto kept = std::make_unique<repeated_request>();
  kept->number = headers.number();
  kept->request = request;
  kept->authority = request.other_authority;
  kept->request.other_authority = kept->authority;
  kept->received = received;
  if (!all) all = std::make_unique<repeated_requests>();
  auto& to = static_cast<repeated_requests&>(*all);
  to.place_of(kept->number) = std::move(kept);
  to.memory_bytes = sizeof to;
  for (const auto& one : to.requests_)
    if (one)
      to.memory_bytes += sizeof *one + one->authority.capacity() + one->received.get().capacity_bytes();
}

}  // namespace coracle::server_internal
