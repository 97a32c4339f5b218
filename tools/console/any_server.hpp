// any_server: the host of a console that calls every server that its page names.
#pragma once

#include "tools/schema/session.hpp"

#include <coracle/console/impl/console_host.hpp>

#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace coracle::tools {

// The token admits the user. It keeps the certificates and keys that the page sends, in memory only,
// and never gives them back. The options of the command line are what a page begins with.
class any_server final : public console::console_host {
 public:
  static constexpr std::size_t certificates_max = 64;

  // `given` has the options of the command line; it must outlive this object.
  explicit any_server(session& given);

  // 128 random bits in hexadecimal digits.
  [[nodiscard]] const std::string& token() const noexcept { return token_; }

  status authorize(const http_request& request, bool of_api) override;
  std::string about() override;
  task<result<std::shared_ptr<console::called_server>>> connect(std::string settings,
                                                                http_request request) override;
  task<result<std::string>> perform(std::string name, std::string body) override;

 private:
  struct certificate {
    std::string chain;
    std::string key;  // empty for a CA
    // The names of the user's files, for lines that name them.
    std::string chain_file, key_file;
  };

  // These run on a thread that may block. Throw failure.
  std::shared_ptr<console::called_server> open(const std::string& settings);
  [[nodiscard]] channel_credentials credentials(const nlohmann::ordered_json& settings);
  [[nodiscard]] std::unique_ptr<definitions> uploaded(const nlohmann::ordered_json& settings);

  [[nodiscard]] nlohmann::ordered_json given() const;
  [[nodiscard]] certificate find(const std::string& name);
  void add_certificate(const std::string& body);
  [[nodiscard]] nlohmann::ordered_json certificates();

  session& given_;
  const std::string token_;
  std::mutex mutex_;
  std::map<std::string, certificate> certificates_;
};

}  // namespace coracle::tools
