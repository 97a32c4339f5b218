// class_text: writes the classes of a generated header: the service base class and the stub.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coracle::codegen {

struct service_model;

// Adds each line after `indent` and two slashes.
void add_comments(std::string& to, std::string_view indent, const std::vector<std::string>& lines);

void add_service_class(std::string& to, const service_model& service);
void add_stub_class(std::string& to, const service_model& service);

}  // namespace coracle::codegen
