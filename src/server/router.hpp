// router: maps a path to a method, and a content-type to the codec of its messages.
#pragma once

#include "base/method_name.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/service.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "server/call/call_request.hpp"
#include "transport/header_block.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::server_internal {

// A method of a service that was added to a server.
struct served_method {
  const coracle::method* definition = nullptr;
  service* target = nullptr;
  bool request_in_arena = false;
  std::uint32_t index = 0;  // in the router
  const base::method_name* name = &base::method_names::unregistered();  // in records
  std::string_view path = {};  // of the definition; empty for unregistered methods
  bool is_limited = true;  // service::is_limited()
  // The index of its calls where those of unregistered methods have this one.
  [[nodiscard]] std::uint32_t index_or(std::uint32_t unregistered) const noexcept {
    return path.empty() ? unregistered : index;
  }
};

// The part of a content-type after "application/grpc", and how the server responds to it.
struct subtype {
  std::string name;                   // "", "proto", "json", ...
  const message_codec* form;  // null: protobuf's binary format
  transport::header_block reply_headers;  // a reply has the content-type of its request
  status_code unreadable = status_code::internal;  // of a request that cannot be parsed
};

// The subtypes that a server supports. Filled before the first connection, and read by every loop afterwards.
class subtype_table {
 public:
  // unreadable: see subtype.
  explicit subtype_table(status_code unreadable = status_code::internal);
  // Adds a codec, which must outlive the table. A malformed or duplicate name is a programming error (abort).
  void add(const message_codec& form);
  // Empty if the server does not support the subtype.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;
  [[nodiscard]] const subtype& at(std::uint32_t index) const noexcept { return rows_[index]; }
  [[nodiscard]] std::span<const subtype> all() const noexcept { return rows_; }

 private:
  void add_row(std::string_view name, const message_codec* form);

  std::vector<subtype> rows_;
  const status_code unreadable_;
};

// Makes a subtype whose name is in no table.
subtype make_subtype(std::string_view name, const message_codec* form);

// The content of the request headers, with the method and the subtype that they name.
struct request_info : protocol::grpc::request_headers {
  const served_method* row = nullptr;
  const server_internal::subtype* subtype = nullptr;  // set for content::grpc
  // What a call needs of it. Borrows from this.
  [[nodiscard]] call_request to_call() const noexcept {
    return {
        row, subtype, timeout, received, accepted, unknown_encoding, connection_authority, other_authority};
  }
};

// What a call of an unregistered method owns, or one whose messages have a form of their own; other calls
// refer to the tables of the router.
struct fallback_call {
  std::string path;
  std::optional<subtype> form;  // a subtype that is in no table
  std::unique_ptr<message_codec> codec;  // of `form`; may be null
};

// Filled before the first connection, and read by every loop afterwards.
class router final : public service_host {
 public:
  using row = served_method;
  // Does not call service::added_to().
  void add(service& s);
  // Sets the service for unregistered paths; without one, fallback() is null.
  void set_fallback(service& s) {
    fallback_ = {&s.methods().front(), &s};
    fallback_.is_limited = s.is_limited();
    report_unknown_methods();
  }
  // Calls of unregistered methods are made, because an interceptor or the observer sees them.
  void report_unknown_methods() noexcept { reports_unknown_methods_ = true; }
  // Paths without a route may have a query, or belong to another protocol than gRPC.
  [[nodiscard]] static constexpr bool keeps_unknown_paths() noexcept { return true; }
  [[nodiscard]] const row* fallback() const noexcept { return fallback_.definition ? &fallback_ : nullptr; }
  // Lookups for protocol::grpc::request_reader: they return indexes of rows and of subtypes.
  [[nodiscard]] std::optional<std::uint32_t> find_route(std::string_view path) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> find_subtype(std::string_view name) const noexcept {
    return subtypes.find(name);
  }
  // A gRPC call of an unregistered method goes to the fallback service, whatever its content-subtype. Without
  // one, if an interceptor or observer is to see the call, it goes to unknown_methods(). Returns null for
  // other requests; else it has completed `r`, which refers to the result.
  [[nodiscard]] std::unique_ptr<fallback_call> fallback_call_of(request_info& r) const;
  // The same for a request of any protocol that has no method: takes its path, and sets its row.
  [[nodiscard]] std::unique_ptr<fallback_call> take_unknown_method(std::string& path,
                                                                   const served_method*& row_of_call) const;
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rows_.size()); }
  [[nodiscard]] const row& at(std::uint32_t index) const noexcept { return rows_[index]; }
  [[nodiscard]] std::span<service* const> services() const noexcept override { return services_; }
  // The encodings of messages that requests may have.
  subtype_table subtypes;
  // The same for requests of Connect, where a request that cannot be parsed is an error of the client: HTTP
  // status 400, as in other implementations.
  subtype_table connect_subtypes{status_code::invalid_argument};
  // The compression encodings that requests may have.
  encoding_set encodings = encoding_set::all();

 private:
  std::vector<row> rows_;
  std::vector<service*> services_;
  row fallback_;
  bool reports_unknown_methods_ = false;
  std::unordered_map<std::string_view, std::uint32_t> by_path_;
};

// A row whose method ends each call with UNIMPLEMENTED, so that interceptors and the observer see calls of
// unregistered methods like any other.
[[nodiscard]] const router::row& unknown_methods();

}  // namespace coracle::server_internal
