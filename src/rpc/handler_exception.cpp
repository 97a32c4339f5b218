#include "coracle/rpc/call_ended.hpp"
#include "coracle/rpc/rpc.hpp"

namespace coracle::calls {

status status_of_exception(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const call_ended&) {
    // Nearly always the handler's own call, which is over and hears nothing; from a call that the
    // handler made itself, its status would say more than the client should know.
    return status::cancelled("the handler gave way");
  } catch (const coro::cancelled&) {
    return status::cancelled("the handler was asked to stop");
  } catch (const status_error& e) {
    return e.status();
  } catch (...) {
    return status::unknown("the handler failed");
  }
}

}  // namespace coracle::calls
