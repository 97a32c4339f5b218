// router: who answers a request: a gRPC method by its path, or a plain page.
#pragma once

#include "coracle/rpc/service.hpp"
#include "rpc/request_head.hpp"
#include "rpc/subtype.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coracle::serving {

// Filled before the first connection, read by every loop afterwards.
class router final : public service_host {
 public:
  using row = calls::served_method;
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
  // Null for a path that no service has.
  [[nodiscard]] const row* find(std::string_view path) const noexcept;
  [[nodiscard]] std::uint32_t index_of(const row& r) const noexcept {
    return static_cast<std::uint32_t>(&r - rows_.data());
  }
  [[nodiscard]] const row& at(std::uint32_t index) const noexcept { return rows_[index]; }
  [[nodiscard]] std::span<service* const> services() const noexcept override { return services_; }
  // The forms that requests may have.
  calls::subtype_table subtypes;
  // How requests may be compressed.
  encoding_set encodings = encoding_set::all();

 private:
  std::vector<row> rows_;
  std::vector<service*> services_;
  row fallback_;
  bool keeps_unknown_paths_ = false;
  std::unordered_map<std::string_view, std::uint32_t> by_path_;
};

}  // namespace coracle::serving
