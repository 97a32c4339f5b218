// The messages of etcd's API (etcdserverpb) that are needed here, in protobuf's wire format.
#pragma once

#include "coracle/rpc/bytes_message.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::naming::etcd {

inline constexpr char range_method[] = "/etcdserverpb.KV/Range";
inline constexpr char put_method[] = "/etcdserverpb.KV/Put";
inline constexpr char watch_method[] = "/etcdserverpb.Watch/Watch";
inline constexpr char grant_method[] = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr char revoke_method[] = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr char authenticate_method[] = "/etcdserverpb.Auth/Authenticate";
inline constexpr char keep_alive_method[] = "/etcdserverpb.Lease/LeaseKeepAlive";

// The end of the range of all keys that begin with `prefix`, whose last byte must not be 0xff.
[[nodiscard]] std::string end_of_prefix(std::string prefix);

enum class freshness : std::uint8_t {
  current,  // of a member that has asked the others: at least as new as any answer before (linearizable)
  any,  // what one member has, also without the others, however old that is (serializable)
};
// revision: 0, or that of the first page, so that all pages are of one time.
[[nodiscard]] bytes_message range_request(std::string_view key, std::string_view end, std::int64_t limit,
                                          std::int64_t revision, freshness of);
[[nodiscard]] bytes_message watch_request(std::string_view key, std::string_view end,
                                          std::int64_t start_revision);
[[nodiscard]] bytes_message put_request(std::string_view key, std::string_view value, std::int64_t lease);
[[nodiscard]] bytes_message authenticate_request(std::string_view user, std::string_view password);
[[nodiscard]] bytes_message grant_request(std::int64_t seconds);
// LeaseRevokeRequest and LeaseKeepAliveRequest have the same form.
[[nodiscard]] bytes_message lease_request(std::int64_t lease);

struct key_value {
  std::string key;
  std::string value;
};
// The functions below return false if the message is malformed.
struct range_response {
  std::int64_t revision = 0;
  std::vector<key_value> pairs;
  bool more = false;
};
[[nodiscard]] bool read(const bytes_message& from, range_response& to);

struct watch_response {
  struct event {
    bool deleted = false;
    key_value pair;
  };
  bool canceled = false;
  std::int64_t compact_revision = 0;
  std::string reason;
  std::vector<event> events;
};
[[nodiscard]] bool read(const bytes_message& from, watch_response& to);

// LeaseGrantResponse and LeaseKeepAliveResponse have the same form; a keep-alive of a lease that has expired
// has 0 seconds.
struct lease_response {
  std::int64_t lease = 0;
  std::int64_t seconds = 0;
};
[[nodiscard]] bool read(const bytes_message& from, lease_response& to);

// Of an AuthenticateResponse.
[[nodiscard]] bool read_token(const bytes_message& from, std::string& to);

}  // namespace coracle::naming::etcd
