// status_details: typed details of a status, sent as google.rpc.Status in grpc-status-details-bin.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/status.hpp"
#include "coracle/rpc/error_details.hpp"
#include "coracle/rpc/impl/codec.hpp"

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace coracle {

/// @cond
namespace rpc {

// A type of error_details.hpp.
template <class T>
concept plain_detail = requires(const T& d) {
  { d.to_bytes() } -> std::same_as<std::string>;
  { T::from_bytes(std::string_view()) } -> std::same_as<std::optional<T>>;
};
template <class T>
concept message_detail = std::is_base_of_v<google::protobuf::MessageLite, T>;

[[nodiscard]] status add_detail(const status& to, std::string_view type_name, std::string_view bytes);
// Returns the bytes of the first detail of that type, borrowed from `s`.
[[nodiscard]] std::optional<std::string_view> bytes_of_detail(const status& s, std::string_view type_name);
[[nodiscard]] std::string type_name_of(const google::protobuf::MessageLite& message);
[[nodiscard]] std::string bytes_of(const google::protobuf::MessageLite& message);

}  // namespace rpc
/// @endcond

/// A type that can be a detail of a status: a type of error_details.hpp, or a protobuf message.
template <class T>
concept status_detail = rpc::plain_detail<T> || rpc::message_detail<T>;

/// Returns `s` with `details` added after those that it has.
///
/// Details are values of error_details.hpp, or any protobuf messages (those of google.rpc, or your own). Keep
/// them to a few hundred bytes: gRPC guarantees only 8 KiB for all metadata. `s` must not be OK: that is a
/// usage error.
///
///   co_return with_details(status::invalid_argument("a title is needed"),
///                          error_info("NO_TITLE", "movies.example"));
template <status_detail... Details>
[[nodiscard]] status with_details(status s, const Details&... details) {
  const auto add = [&](const auto& d) {
    using detail_type = std::remove_cvref_t<decltype(d)>;
    if constexpr (rpc::plain_detail<detail_type>)
      s = rpc::add_detail(s, detail_type::type_name, d.to_bytes());
    else s = rpc::add_detail(s, rpc::type_name_of(d), rpc::bytes_of(d));
  };
  (add(details), ...);
  return s;
}

/// Returns the first detail of type T, or nothing if there is none or it does not parse.
///
///   if (const auto wait = find_detail<retry_info>(reply.status())) co_await sleep_for(wait->delay());
template <status_detail T>
[[nodiscard]] std::optional<T> find_detail(const status& s) {
  if constexpr (rpc::plain_detail<T>) {
    const auto bytes = rpc::bytes_of_detail(s, T::type_name);
    return bytes ? T::from_bytes(*bytes) : std::nullopt;
  } else {
    T message;
    const auto bytes = rpc::bytes_of_detail(s, rpc::type_name_of(message));
    if (!bytes || !rpc::codec_of<T>::get().read(rpc::codec_of<T>::address(message), as_bytes(*bytes)))
      return std::nullopt;
    return message;
  }
}

}  // namespace coracle
