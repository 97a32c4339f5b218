// Metadata in the form in which the conformance suite asks for it and is told of it.
#pragma once

#include "connectrpc/conformance/v1/service.pb.h"

#include <coracle/rpc/metadata.hpp>

namespace conformance {

using header_fields = google::protobuf::RepeatedPtrField<connectrpc::conformance::v1::Header>;

// Names in order of their first appearance, each with all its values; of -bin names as base64.
void tell_metadata(const coracle::metadata& from, header_fields& into);

// Calls add(name, value) for each value, of -bin names with the plain bytes.
template <class Add>
void for_each_field(const header_fields& wanted, Add add);

// Of base64 with or without padding; what is none comes back as it is.
std::string plain_bytes(const std::string& base64);
std::string base64_of(std::string_view bytes);

// Metadata's names are lower-case.
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
