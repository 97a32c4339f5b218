#include "server/router.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/server/generic_service.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "protocol/web/ascii.hpp"

#include <algorithm>
#include <utility>

namespace coracle::server_internal {

void router::add(service& s) {
  services_.push_back(&s);
  for (const coracle::method& m : s.methods()) {
    const bool fresh = by_path_.emplace(m.path, static_cast<std::uint32_t>(rows_.size())).second;
    CORACLE_ASSERT(fresh, "two services with a method of the same path were added");
    rows_.push_back({&m, &s, s.wants_arena(), static_cast<std::uint32_t>(rows_.size()),
                     &base::method_names::of_server(m.path), m.path, s.is_limited()});
  }
}

std::optional<std::uint32_t> router::find_route(std::string_view path) const noexcept {
  const auto it = by_path_.find(path);
  if (it == by_path_.end()) return std::nullopt;
  return it->second;
}

std::unique_ptr<fallback_call> router::fallback_call_of(request_info& r) const {
  if (r.row || r.method != request_info::verb::post) return nullptr;
  std::optional<std::string_view> other_subtype;
  if (r.type != request_info::content::grpc) {
    other_subtype = protocol::grpc::content_subtype(r.other_content_type);
    if (!other_subtype || !fallback()) return nullptr;
  }
  auto call = take_unknown_method(r.unknown_path, r.row);
  if (!call || !other_subtype) return call;
  call->form = make_subtype(*other_subtype, nullptr);
  r.subtype = &*call->form;
  r.type = request_info::content::grpc;
  return call;
}

std::unique_ptr<fallback_call> router::take_unknown_method(std::string& path,
                                                           const served_method*& row_of_call) const {
  if (row_of_call || !reports_unknown_methods_ || path.empty()) return nullptr;
  auto call = std::make_unique<fallback_call>();
  call->path = std::move(path);
  row_of_call = fallback() ? fallback() : &unknown_methods();
  return call;
}

subtype make_subtype(std::string_view name, const message_codec* form) {
  subtype s{std::string(name), form, {}};
  s.reply_headers.add(":status", "200").add("content-type", protocol::grpc::content_type_of(name));
  return s;
}

subtype_table::subtype_table(status_code unreadable) : unreadable_(unreadable) {
  for (const std::string_view name : {"", "proto"}) add_row(name, nullptr);
}

void subtype_table::add_row(std::string_view name, const message_codec* form) {
  rows_.push_back(make_subtype(name, form));
  rows_.back().unreadable = unreadable_;
}

void subtype_table::add(const message_codec& form) {
  CORACLE_ASSERT(
      protocol::grpc::is_valid_key(form.name()),
      "invalid codec name: use lower-case letters, digits, '-', '_' and '.', as in a content-type");
  CORACLE_ASSERT(!find(form.name()), "two codecs have the same name, or one has the name proto");
  add_row(form.name(), &form);
}

std::optional<std::uint32_t> subtype_table::find(std::string_view name) const noexcept {
  // RFC 9110 8.3.1: media types are compared without case.
  const auto it = std::find_if(rows_.begin(), rows_.end(), [&](const subtype& s) {
    return protocol::web::equal_ignoring_case(s.name, name);
  });
  if (it == rows_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(it - rows_.begin());
}

namespace {

class unknown final : public generic_service {
  replies<bytes_message> call(server_context&, reader<bytes_message>) override {
    co_return status::unimplemented("the server has no such method");
  }
};

}  // namespace

const router::row& unknown_methods() {
  static auto& service = *new unknown;  // never destroyed: calls may run while the program exits
  static const router::row row = [] {
    router::row r{&service.methods().front(), &service};
    r.is_limited = false;  // UNIMPLEMENTED, whatever the load
    return r;
  }();
  return row;
}

}  // namespace coracle::server_internal
