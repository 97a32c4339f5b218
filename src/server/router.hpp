// router: who answers a request: a gRPC method by its path, or a plain page.
#pragma once

#include "coracle/server/service.hpp"
#include "server/request_head.hpp"
#include "server/subtype.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::server_internal {

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
  // Somebody wants to hear of calls to paths that no service has.
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

}  // namespace coracle::server_internal
