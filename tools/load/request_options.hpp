// request_options: what is called with what, as the command line says it.
#pragma once

#include "tools/load/method_mix.hpp"
#include "tools/schema/session.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools::load {

class request_options {
 public:
  // Must outlive the parsing.
  void add_to(CLI::App& command);
  // After the parsing. rest: a body of HTTP is made of them, too. `at` must outlive the mix. Throws failure.
  [[nodiscard]] method_mix mix(session& at, bool rest) const;

 private:
  [[nodiscard]] std::unique_ptr<request_source> from_bytes(const std::string& name, std::string bytes) const;
  [[nodiscard]] std::unique_ptr<request_source> from_json_text(session& at, const std::string& name,
                                                               const std::string& said) const;

  std::vector<std::string> names_, data_, raw_;
  std::string kind_;  // without one unary
  std::optional<std::uint32_t> messages_;
};

}  // namespace coracle::tools::load
