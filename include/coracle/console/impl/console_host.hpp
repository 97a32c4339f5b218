// console_host: what a console's page may call, and who may use the page. Two programs decide differently:
// with_console() allows the server that the page is part of, `coracle console` any server.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/channel_handle.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/server/http_request.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {

class server;

namespace console {

/// A server that a page calls, and the definitions of its services.
class called_server {
 public:
  called_server(channel by, google::protobuf::FileDescriptorSet definitions,
                std::vector<std::string> names) noexcept
      : to(std::move(by)), files(std::move(definitions)), services(std::move(names)) {}

  channel to;
  /// The files that define the services, and their imports, in any order.
  google::protobuf::FileDescriptorSet files;
  std::vector<std::string> services;
};

/// Used on every loop of the server.
class console_host {
 public:
  virtual ~console_host() = default;
  /// Decides on each request of the page and its files (`of_api` false), and of its interface (true).
  virtual status authorize(const http_request& request, bool of_api) = 0;
  /// Returns an object of JSON that the page gets first: "own", whether it calls its own server only, and
  /// what it may choose otherwise.
  virtual std::string about() = 0;
  /// Connects to the server that `settings`, an object of JSON from the page, names. `request` is the one
  /// that has brought them.
  virtual task<result<std::shared_ptr<called_server>>> connect(std::string settings,
                                                               http_request request) = 0;
  /// Performs an action that this host alone has; JSON in, JSON out. NOT_FOUND: there is no such action.
  virtual task<result<std::string>> perform(std::string action, std::string body);
};

/// Adds the page to a server, below `path`: "/console", or "" for the root.
void add_console(server& on, const std::string& path, std::shared_ptr<console_host> host);

}  // namespace console
}  // namespace coracle
