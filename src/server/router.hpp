// router: from a path to the method that answers it, and from a content-type to the form of its messages.
#pragma once

#include "coracle/rpc/message_codec.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/service.hpp"
#include "protocol/grpc/request_headers.hpp"
#include "transport/header_block.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::server_internal {

// A method of a service that a server has.
struct served_method {
  const coracle::method* what = nullptr;
  service* target = nullptr;
  bool request_in_arena = false;
};

// What follows "application/grpc" in a content-type, and how the server answers it.
struct subtype {
  std::string name;                   // "", "proto", "json", ...
  const message_codec* form;          // null: protobuf's binary format
  transport::header_block reply_head; // a reply's content-type is its request's
};

// Those that a server knows. Filled before the first connection, read by every loop afterwards.
class subtype_table {
 public:
  subtype_table();
  // The codec must outlive the table; a name that is taken or malformed is a defect of the caller (abort).
  void add(const message_codec& form);
  // Nothing for one that the server does not know.
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const noexcept;
  [[nodiscard]] const subtype& at(std::uint32_t index) const noexcept { return rows_[index]; }

 private:
  std::vector<subtype> rows_;
};

// Of a name that no table has.
subtype make_subtype(std::string_view name, const message_codec* form);

// What request headers say, and which method and form of messages they name.
struct request_head : protocol::grpc::request_headers {
  const served_method* row = nullptr;
  const server_internal::subtype* subtype = nullptr;  // of content::grpc
};

// What a call that goes to the fallback service owns; other calls refer to the tables of the router.
struct foreign_call {
  std::string path;
  std::optional<subtype> form;  // one that the server does not know
};

// Filled before the first connection, read by every loop afterwards.
class router final : public service_host {
 public:
  using row = served_method;
  // Without service::added_to().
  void add(service& s);
  // For paths that no service has; null: none does.
  void set_fallback(service& s) {
    fallback_ = {&s.methods().front(), &s};
    keep_unknown_paths();
  }
  // An interceptor or observer wants to know of calls to paths that no service has.
  void keep_unknown_paths() noexcept { keeps_unknown_paths_ = true; }
  [[nodiscard]] bool keeps_unknown_paths() const noexcept { return keeps_unknown_paths_; }
  [[nodiscard]] const row* fallback() const noexcept { return fallback_.what ? &fallback_ : nullptr; }
  // What protocol::grpc::request_reader asks for: indexes of rows and of subtypes.
  [[nodiscard]] std::optional<std::uint32_t> find_route(std::string_view path) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> find_subtype(std::string_view name) const noexcept {
    return subtypes.find(name);
  }
  [[nodiscard]] bool keeps_unknown_subtypes() const noexcept { return fallback() != nullptr; }
  [[nodiscard]] const row& at(std::uint32_t index) const noexcept { return rows_[index]; }
  [[nodiscard]] std::span<service* const> services() const noexcept override { return services_; }
  // The forms that requests may have.
  subtype_table subtypes;
  // How requests may be compressed.
  encoding_set encodings = encoding_set::all();

 private:
  std::vector<row> rows_;
  std::vector<service*> services_;
  row fallback_;
  bool keeps_unknown_paths_ = false;
  std::unordered_map<std::string_view, std::uint32_t> by_path_;
};

// A row whose method ends each call with UNIMPLEMENTED, so that interceptors and the observer hear of it as of any other.
[[nodiscard]] const router::row& unknown_methods();

}  // namespace coracle::server_internal
