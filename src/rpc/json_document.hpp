// json_document: parses JSON into nlohmann's values, and takes them apart without allocating.
#pragma once

#include "rpc/json_syntax.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::rpc {

// nlohmann's destructor of an object or array that has elements allocates, and is noexcept: without memory it
// ends the process. Here every element is emptied before the value that contains it. That is a recursion,
// whose depth the builder bounds.
class json_document {
 public:
  json_document() noexcept = default;
  // Null if the text is not JSON, or is nested deeper than json_depth_max.
  explicit json_document(std::string_view text);
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;
  ~json_document() { clear(whole_); }

  [[nodiscard]] const nlohmann::json& whole() const noexcept { return whole_; }

 private:
  friend class json_builder;
  static void clear(nlohmann::json& value) noexcept {
    if (!value.is_structured()) return;
    for (nlohmann::json& each : value) clear(each);
    value.clear();
  }

  nlohmann::json whole_;
};

// Builds a document in place, so that its destructor also takes apart what an exception has left. Of two
// members with one name, the last one counts.
class json_builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  json_builder(json_document& to, std::size_t levels_max) : next_(&to.whole_), levels_max_(levels_max) {}
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // not in a text
  bool key(string_t& name) override {
    next_ = &(*open_.back())[name];
    json_document::clear(*next_);
    return true;
  }
  bool start_object(std::size_t) override { return open(nlohmann::json::value_t::object); }
  bool start_array(std::size_t) override { return open(nlohmann::json::value_t::array); }
  bool end_object() override { return open_.pop_back(), true; }
  bool end_array() override { return open_.pop_back(), true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 protected:
  // The document is nested too deep. Ends the parsing.
  virtual void too_deep() {}
  // The object to which key() adds a member.
  [[nodiscard]] const nlohmann::json& innermost() const noexcept { return *open_.back(); }

 private:
  template <class Value>
  nlohmann::json& place(Value&& value) {
    if (open_.empty() || open_.back()->is_object()) return *next_ = std::forward<Value>(value);
    return open_.back()->emplace_back(std::forward<Value>(value));
  }
  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  bool open(nlohmann::json::value_t type) {
    if (open_.size() == levels_max_) return too_deep(), false;
    open_.reserve(levels_max_);
    open_.push_back(&place(type));
    return true;
  }

  nlohmann::json* next_;  // where the next value goes, unless an array is open
  const std::size_t levels_max_;
  // The elements of an open value do not move: only those of the last one grow.
  std::vector<nlohmann::json*> open_;
};

inline json_document::json_document(std::string_view text) : json_document() {
  json_builder builder(*this, json_depth_max);
  if (nlohmann::json::sax_parse(text, &builder)) return;
  clear(whole_);
  whole_ = nullptr;
}

}  // namespace coracle::rpc
