// request_options: the command line options for the methods and their requests.
#pragma once

#include "tools/load/data_file.hpp"
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
  // This object must outlive the parsing.
  void add_to(CLI::App& command);
  // Call it after the parsing. `at` and this object must outlive the result. Throws failure.
  [[nodiscard]] method_mix mix(session& at);
  // The methods of the mix; not for --raw, which has no definitions.
  [[nodiscard]] std::vector<const google::protobuf::MethodDescriptor*> methods(session& at) const;
  // The values of METHOD as they were typed.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] bool is_raw() const noexcept { return !raw_.empty(); }
  // What the requests are made of, so that two runs can be compared: a text for each method, and options that
  // change them. Call it after mix().
  [[nodiscard]] const std::vector<std::string>& description() const noexcept { return description_; }

 private:
  [[nodiscard]] std::unique_ptr<request_source> from_bytes(const std::string& name, std::string bytes) const;
  [[nodiscard]] std::unique_ptr<request_source> from_json_text(session& at, const std::string& name,
                                                               const std::string& text) const;

  std::vector<std::string> names_, data_, raw_, description_;
  std::string data_file_;
  std::string data_order_ = "sequential";
  std::optional<class data_file> rows_;
  std::string kind_;  // default: unary
  std::optional<std::uint32_t> messages_;
};

}  // namespace coracle::tools::load
