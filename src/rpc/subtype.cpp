#include "rpc/subtype.hpp"

#include "coracle/base/assert.hpp"

#include <algorithm>

namespace coracle::calls {

namespace {

bool valid_name(std::string_view name) noexcept {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

std::string content_type_of(std::string_view subtype_name) {
  std::string text = "application/grpc";
  if (!subtype_name.empty()) text.append("+").append(subtype_name);
  return text;
}

subtype make_subtype(std::string_view name, const message_codec* form) {
  subtype s{std::string(name), form, {}};
  s.reply_head.add(":status", "200").add("content-type", content_type_of(name));
  return s;
}

subtype_table::subtype_table() {
  rows_.push_back(make_subtype("", nullptr));
  rows_.push_back(make_subtype("proto", nullptr));
}

void subtype_table::add(const message_codec& form) {
  CORACLE_ASSERT(valid_name(form.name()),
                 "a codec's name goes into a content-type: use lower-case letters, digits, '-', '_' and '.'");
  CORACLE_ASSERT(!find(form.name()), "two codecs have the same name, or one has the name proto");
  rows_.push_back(make_subtype(form.name(), &form));
}

const subtype* subtype_table::find(std::string_view name) const noexcept {
  const auto it = std::find_if(rows_.begin(), rows_.end(), [&](const subtype& s) { return s.name == name; });
  return it == rows_.end() ? nullptr : &*it;
}

}  // namespace coracle::calls
