// filter: what a control plane has done to each call of some routes (gRFC A39).
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "xds/resource/field_path.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {
class server_context;
class xds_filter_type;
}  // namespace coracle

namespace coracle::xds {

class filtered_call;
class matcher_reader;

// A filter with its configuration. Does not change; any loop may use it.
class filter {
 public:
  filter() noexcept = default;
  filter(const filter&) = delete;
  filter& operator=(const filter&) = delete;
  virtual ~filter() = default;

  // Of a client, when a call has its route and no server yet. Adds to `call` what is to be done.
  virtual void begin_call(filtered_call& /*call*/) const {}
  // Of a server, before the handler. The call ends with a status that is not OK.
  [[nodiscard]] virtual status check_call(const server_context& /*call*/) const { return {}; }
  // Whether calls of a session are to stay on one server.
  [[nodiscard]] virtual bool has_sessions() const noexcept { return false; }
  // As check_call(), for a filter that waits.
  [[nodiscard]] virtual bool waits_on_servers() const noexcept { return false; }
  [[nodiscard]] virtual task<status> admit_call(server_context& /*call*/) const { co_return status(); }
};

// The configuration of a filter, or what overrides it for a part of the routes.
struct filter_source {
  std::string_view name;  // of the filter in the Listener
  std::string_view type;  // full name of the message
  std::string_view content;  // serialized; of a TypedStruct, JSON
  bool is_json = false;
};

// One kind of filters. Does not change.
class filter_type {
 public:
  enum class side : unsigned char { clients, servers, both };

  filter_type(const filter_type&) = delete;
  filter_type& operator=(const filter_type&) = delete;
  virtual ~filter_type() = default;

  [[nodiscard]] bool works_on(bool server) const noexcept {
    return side_ == side::both || (side_ == side::servers) == server;
  }
  [[nodiscard]] bool is_terminal() const noexcept { return terminal_; }
  // Whether its configuration is of that type.
  [[nodiscard]] virtual bool has_type(std::string_view type) const noexcept = 0;
  // Whether overrides are of that type.
  [[nodiscard]] virtual bool has_override(std::string_view type) const noexcept { return has_type(type); }
  // Throws invalid_resource, as the next one. Null: the filter does nothing.
  [[nodiscard]] virtual std::shared_ptr<const filter> read(const filter_source& from,
                                                           matcher_reader& matchers,
                                                           const field_path& at) const = 0;
  // What stands in place of the filter where the override applies.
  [[nodiscard]] virtual std::shared_ptr<const filter> read_override(const filter_source& from,
                                                                    matcher_reader& matchers,
                                                                    const field_path& at) const {
    return read(from, matchers, at);
  }

 protected:
  explicit filter_type(side where, bool terminal = false) noexcept : side_(where), terminal_(terminal) {}
  // For filters whose configuration is a message.
  template <class Message>
  static Message parsed(const filter_source& from, const field_path& at) {
    Message m;
    if (from.is_json) at.refuse("is a TypedStruct, but this filter is configured by a message alone");
    if (!m.ParseFromArray(from.content.data(), static_cast<int>(from.content.size())))
      at.refuse("is not a valid " + std::string(from.type));
    return m;
  }

 private:
  const side side_;
  const bool terminal_;
};

// Those of the library and those of the program. Does not change.
class filter_types {
 public:
  explicit filter_types(const std::vector<std::shared_ptr<const xds_filter_type>>& of_program = {});
  // Null: there is none for this type.
  [[nodiscard]] const filter_type* with_config(std::string_view type) const noexcept;
  [[nodiscard]] const filter_type* with_override(std::string_view type) const noexcept;
  // Without any of a program.
  static const filter_types& of_library();

 private:
  std::vector<std::shared_ptr<const filter_type>> all_;
};

}  // namespace coracle::xds
