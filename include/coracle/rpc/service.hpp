// service: the base of generated service classes.
#pragma once

#include "coracle/base/version.hpp"
#include "coracle/rpc/method.hpp"
#include "coracle/rpc/reader.hpp"
#include "coracle/rpc/rpc.hpp"
#include "coracle/rpc/server_context.hpp"
#include "coracle/rpc/stream.hpp"

namespace coracle {

// One object serves every loop of a server: handlers of different calls may run at the same time on
// different threads when the server has more than one loop. Must outlive the server it is added to.
class service {
 public:
  virtual ~service() = default;
  // Lives as long as the program.
  [[nodiscard]] virtual method_table methods() const noexcept = 0;
};

}  // namespace coracle
