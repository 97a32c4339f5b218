#include "naming/etcd_messages.hpp"

#include "rpc/proto_wire.hpp"

#include <utility>

namespace coracle::naming::etcd {

namespace {

void put_signed(std::string& to, std::uint32_t field, std::int64_t n) {
  rpc::put_number(to, field, static_cast<std::uint64_t>(n));
}

// mvccpb.KeyValue
bool read_pair(std::string_view from, key_value& to) {
  rpc::proto_reader fields(from);
  while (fields.next()) {
    if (fields.field() == 1) to.key = fields.text();
    else if (fields.field() == 5) to.value = fields.text();
  }
  return fields.ok();
}

// ResponseHeader
bool read_revision(std::string_view from, std::int64_t& to) {
  rpc::proto_reader fields(from);
  while (fields.next())
    if (fields.field() == 3) to = static_cast<std::int64_t>(fields.number());
  return fields.ok();
}

// mvccpb.Event
bool read_event(std::string_view from, watch_response::event& to) {
  rpc::proto_reader fields(from);
  bool ok = true;
  while (ok && fields.next()) {
    if (fields.field() == 1) to.deleted = fields.number() == 1;
    else if (fields.field() == 2) ok = read_pair(fields.text(), to.pair);
  }
  return ok && fields.ok();
}

}  // namespace

std::string end_of_prefix(std::string prefix) {
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

bytes_message range_request(std::string_view key, std::string_view end, std::int64_t limit,
                            std::int64_t revision, freshness of) {
  std::string m;
  rpc::put_text(m, 1, key);
  rpc::put_text(m, 2, end);
  put_signed(m, 3, limit);
  put_signed(m, 4, revision);
  if (of == freshness::any) rpc::put_number(m, 7, 1);  // serializable
  return bytes_message(std::move(m));
}

bytes_message watch_request(std::string_view key, std::string_view end, std::int64_t start_revision) {
  std::string create;
  rpc::put_text(create, 1, key);
  rpc::put_text(create, 2, end);
  put_signed(create, 3, start_revision);
  std::string m;
  rpc::put_text(m, 1, create);
  return bytes_message(std::move(m));
}

bytes_message put_request(std::string_view key, std::string_view value, std::int64_t lease) {
  std::string m;
  rpc::put_text(m, 1, key);
  rpc::put_text(m, 2, value);
  put_signed(m, 3, lease);
  return bytes_message(std::move(m));
}

bytes_message authenticate_request(std::string_view user, std::string_view password) {
  std::string m;
  rpc::put_text(m, 1, user);
  rpc::put_text(m, 2, password);
  return bytes_message(std::move(m));
}

bytes_message grant_request(std::int64_t seconds) {
  std::string m;
  put_signed(m, 1, seconds);
  return bytes_message(std::move(m));
}

bytes_message lease_request(std::int64_t lease) {
  std::string m;
  put_signed(m, 1, lease);
  return bytes_message(std::move(m));
}

bool read(const bytes_message& from, range_response& to) {
  rpc::proto_reader fields(from.bytes());
  bool ok = true;
  while (ok && fields.next()) {
    if (fields.field() == 1) ok = read_revision(fields.text(), to.revision);
    else if (fields.field() == 2) ok = read_pair(fields.text(), to.pairs.emplace_back());
    else if (fields.field() == 3) to.more = fields.number() != 0;
  }
  return ok && fields.ok();
}

bool read(const bytes_message& from, watch_response& to) {
  rpc::proto_reader fields(from.bytes());
  bool ok = true;
  while (ok && fields.next()) {
    if (fields.field() == 4) to.canceled = fields.number() != 0;
    else if (fields.field() == 5) to.compact_revision = static_cast<std::int64_t>(fields.number());
    else if (fields.field() == 6) to.reason = fields.text();
    else if (fields.field() == 11) ok = read_event(fields.text(), to.events.emplace_back());
  }
  return ok && fields.ok();
}

bool read(const bytes_message& from, lease_response& to) {
  rpc::proto_reader fields(from.bytes());
  while (fields.next()) {
    if (fields.field() == 2) to.lease = static_cast<std::int64_t>(fields.number());
    else if (fields.field() == 3) to.seconds = static_cast<std::int64_t>(fields.number());
  }
  return fields.ok();
}

bool read_token(const bytes_message& from, std::string& to) {
  rpc::proto_reader fields(from.bytes());
  while (fields.next())
    if (fields.field() == 2) to = fields.text();
  return fields.ok();
}

}  // namespace coracle::naming::etcd
