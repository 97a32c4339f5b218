// json_document: holds a JSON document of nlohmann's, and takes it apart without allocating.
#pragma once

#include <nlohmann/json.hpp>

namespace coracle::rpc {

// nlohmann's destructor of an object or array that has elements allocates, and is noexcept: without memory it
// ends the process. Here every element is emptied before the value that contains it. The depth of the document
// must be bounded, because this is a recursion.
class json_document {
 public:
  json_document() noexcept = default;
  explicit json_document(nlohmann::json whole) noexcept : whole_(std::move(whole)) {}
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;
  ~json_document() { clear(whole_); }

  [[nodiscard]] nlohmann::json& whole() noexcept { return whole_; }

 private:
  static void clear(nlohmann::json& value) noexcept {
    if (!value.is_structured()) return;
    for (nlohmann::json& each : value) clear(each);
    value.clear();
  }

  nlohmann::json whole_;
};

}  // namespace coracle::rpc
