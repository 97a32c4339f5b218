// page_reader: reads the JSON of a server's pages for operators.
#pragma once

#include "tools/endpoint.hpp"

#include <coracle/client.hpp>
#include <coracle/runtime.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools::pages {

// The server and the path of its pages, on a command line.
class page_address {
 public:
  void add_to(CLI::App& command);
  // "http://127.0.0.1:50051/pages"
  [[nodiscard]] std::string url() const;
  [[nodiscard]] const endpoint& where() const noexcept { return where_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  endpoint where_;
  std::string path_ = "/pages";
};

class page_reader {
 public:
  // Throws usage_failure.
  explicit page_reader(const page_address& of);
  // Throws call_failure if the server gives no such page.
  [[nodiscard]] nlohmann::json read(const std::string& page);

 private:
  const page_address& of_;
  runtime runtime_;
  channel server_;
};

}  // namespace coracle::tools::pages
