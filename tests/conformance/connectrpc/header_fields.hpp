// Metadata in the form of the conformance suite's requests and reports.
#pragma once

#include "connectrpc/conformance/v1/service.pb.h"

#include <coracle/rpc/metadata.hpp>

namespace conformance {

using header_fields = google::protobuf::RepeatedPtrField<connectrpc::conformance::v1::Header>;

// Names in order of their first appearance, each with all its values; the values of -bin names in base64.
void tell_field(std::string_view name, std::string_view value, header_fields& into);
void tell_metadata(const coracle::metadata& from, header_fields& into);

// Calls add(name, value) for each value; the values of -bin names as plain bytes.
template <class Add>
void for_each_field(const header_fields& wanted, Add add);

// Decodes base64 with or without padding; other text is returned unchanged.
std::string plain_bytes(const std::string& base64);
std::string base64_of(std::string_view bytes);

// The names of metadata are lower-case.
std::string lower_case(std::string name);
bool is_binary(std::string_view name) noexcept;

template <class Add>
void for_each_field(const header_fields& wanted, Add add) {
  for (const auto& field : wanted) {
    const std::string name = lower_case(field.name());
    for (const auto& value : field.value()) add(name, is_binary(name) ? plain_bytes(value) : value);
  }
}

}  // namespace conformance
