// service: the base of generated service classes.
#pragma once

#include "coracle/base/version.hpp"
#include "coracle/rpc/reader.hpp"
#include "coracle/server/impl/method.hpp"
#include "coracle/server/replies.hpp"
#include "coracle/server/reply.hpp"
#include "coracle/server/server_context.hpp"

#include <span>

namespace coracle {

class service;

// service_host: what a service may ask of the server that it was added to. As long-lived as the server.
class service_host {
 public:
  // All that were added; complete from the first listen() or in_process() on. Any thread, from then on.
  [[nodiscard]] virtual std::span<service* const> services() const noexcept = 0;

 protected:
  ~service_host() = default;
};

// One object serves every loop of a server: handlers of different calls may run at the same time on
// different threads when the server has more than one loop. Must outlive the server it is added to.
class service {
 public:
  virtual ~service() = default;
  // Lives as long as the program.
  [[nodiscard]] virtual method_table methods() const noexcept = 0;

  // True: single requests are made in server_context::arena(), which pays for messages of many parts; small ones are
  // faster without. The same each time.
  [[nodiscard]] virtual bool wants_arena() const noexcept { return false; }

  // The two below are called by the server, for services that speak about it (health, reflection).
  // It was added, on the thread that added it.
  virtual void added_to(const service_host& /*host*/) {}
  // The server takes no new connections any more, and gives its calls a while to end. Once, on any thread.
  virtual void draining() noexcept {}
};

}  // namespace coracle
