#include "server/authorization/audit_loggers.hpp"

#include "base/log_time.hpp"
#include "coracle/base/usage_error.hpp"
#include "rpc/json_syntax.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace coracle {

std::string audit_line(const audit_event& event, std::chrono::system_clock::time_point at) {
  using namespace std::chrono;
  const auto whole = floor<seconds>(at);
  const std::time_t seconds_since_epoch = system_clock::to_time_t(whole);
  std::tm parts{};
  ::gmtime_r(&seconds_since_epoch, &parts);
  char time[40];
  const std::size_t size = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(time + size, sizeof time - size, ".%06lldZ",
                static_cast<long long>(duration_cast<microseconds>(at - whole).count()));
  std::string line = R"({"grpc_audit_log":{"timestamp":")";
  line.append(time).append("\"");
  const auto add = [&](std::string_view key, std::string_view value) {
    line.append(",\"").append(key).append("\":");
    rpc::append_json_string(line, value);
  };
  add("rpc_method", event.method);
  add("principal", event.principal);
  add("policy_name", event.policy);
  add("matched_rule", event.rule);
  line.append(",\"authorized\":").append(event.authorized ? "true" : "false").append("}}\n");
  return line;
}

namespace server_internal {

namespace {

class stdout_audit_logger final : public audit_logger {
 public:
  void log(const audit_event& event) override {
    const std::string line = audit_line(event, base::log_time());
    // One call: lines of several threads do not mix.
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
  }
};

class registry {
 public:
  static registry& of_process() {
    static registry all;
    return all;
  }
  void add(std::string name, audit_logger_factory make) {
    const std::lock_guard held(mutex_);
    factories_.insert_or_assign(std::move(name), std::move(make));
  }
  [[nodiscard]] audit_logger_factory find(std::string_view name) const {
    const std::lock_guard held(mutex_);
    const auto found = factories_.find(name);
    return found == factories_.end() ? audit_logger_factory() : found->second;
  }

 private:
  registry() {
    factories_.emplace(stdout_logger_name, [](std::string_view) -> result<std::shared_ptr<audit_logger>> {
      return std::make_shared<stdout_audit_logger>();
    });
  }
  mutable std::mutex mutex_;
  std::map<std::string, audit_logger_factory, std::less<>> factories_;
};

}  // namespace

result<std::shared_ptr<audit_logger>> make_audit_logger(std::string_view name, std::string_view config) {
  const audit_logger_factory make = registry::of_process().find(name);
  if (!make) return std::shared_ptr<audit_logger>();
  result<std::shared_ptr<audit_logger>> made = std::shared_ptr<audit_logger>();
  try {
    made = make(config);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    return status::invalid_argument(std::string("its factory threw an exception: ") + e.what());
  } catch (...) {
    return status::invalid_argument("its factory threw an exception");
  }
  if (made && !*made) return status::internal("the factory has made no logger");
  return made;
}

}  // namespace server_internal

void register_audit_logger(std::string name, audit_logger_factory make) {
  CORACLE_REQUIRE(!name.empty(), "register_audit_logger() was given an empty name");
  CORACLE_REQUIRE(static_cast<bool>(make), "register_audit_logger() was given an empty factory");
  server_internal::registry::of_process().add(std::move(name), std::move(make));
}

}  // namespace coracle
