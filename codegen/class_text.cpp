#include "codegen/class_text.hpp"

#include "codegen/model.hpp"
#include "codegen/names.hpp"

namespace coracle::codegen {

namespace {

constexpr std::string_view deprecated_attribute = "[[deprecated(\"its .proto says that it is deprecated\")]]";

std::string_view kind_of(const method_model& m) {
  if (m.streams_requests) return m.streams_replies ? "bidi" : "client_streaming";
  return m.streams_replies ? "server_streaming" : "unary";
}

// Adds a virtual function that ends the call with UNIMPLEMENTED.
void add_handler(std::string& to, const method_model& m) {
  const std::string returned =
      concat({m.streams_replies ? "::coracle::replies<" : "::coracle::reply<", m.reply, ">"});
  const std::string argument = m.streams_requests
                                   ? concat({"::coracle::reader<", m.request, "> /*requests*/"})
                                   : concat({"const ", m.request, "& /*request*/"});
  add_comments(to, "    ", m.comments);
  to += concat({"    virtual ", returned, " ", m.name, "(\n",
                "        ::coracle::server_context& /*context*/, ", argument, ") {\n",
                "      return ::coracle::unimplemented();\n", "    }\n\n"});
}

// The table is constant, so that adding a service to a server allocates nothing.
void add_method_table(std::string& to, const service_model& s) {
  to += "    [[nodiscard]] ::coracle::method_table methods() const noexcept override {\n";
  if (s.methods.empty()) {
    to += "      return {};\n";
  } else {
    to += "      static constexpr ::coracle::method table[] = {\n";
    for (const method_model& m : s.methods)
      to += concat({"          ::coracle::", kind_of(m), "_method<&service::", m.name, ">(", literal(m.path),
                    ")", m.no_side_effects ? ".without_side_effects()" : "", ",\n"});
    to +=
        "      };\n"
        "      return table;\n";
  }
  to += "    }\n";
}

// The type that the client holds; see coracle/client/unary_call.hpp and client_stream.hpp.
std::string call_type(const method_model& m) {
  if (!m.streams_requests) return concat({"::coracle::", kind_of(m), "_call<", m.reply, ">"});
  return concat({"::coracle::", kind_of(m), "_call<", m.request, ", ", m.reply, ">"});
}

// The path with what the .proto says about the method; see coracle/client/method_path.hpp.
std::string path_of(const method_model& m) {
  if (!m.no_side_effects || m.streams_requests || m.streams_replies) return literal(m.path);
  return concat({"::coracle::method_path(", literal(m.path), ").without_side_effects()"});
}

// Adds an overload for a request that is moved in: a template, so that its code is instantiated only if it is
// used.
void add_owning_call(std::string& to, const method_model& m) {
  if (m.deprecated) to += concat({"    ", deprecated_attribute, "\n"});
  to += concat({"    [[nodiscard]] ::coracle::owning_unary_call<", m.request, ", ", m.reply, "> ", m.name,
                "(\n", "        ::std::same_as<", m.request,
                "> auto&& request, const ::coracle::call_options& options = "
                "::coracle::call_options::defaults()) const {\n",
                "      return {channel_, ", path_of(m), ", ::std::move(request), options};\n", "    }\n"});
}

void add_call(std::string& to, const method_model& m) {
  add_comments(to, "    ", m.comments);
  if (m.deprecated) to += concat({"    ", deprecated_attribute, "\n"});
  const std::string parameter = m.streams_requests ? "" : concat({"const ", m.request, "& request, "});
  to += concat({"    [[nodiscard]] ", call_type(m), " ", m.name, "(\n", "        ", parameter,
                "const ::coracle::call_options& options = ::coracle::call_options::defaults()) const {\n",
                "      return {channel_, ", path_of(m), m.streams_requests ? "" : ", request",
                ", options};\n", "    }\n"});
  if (!m.streams_requests && !m.streams_replies) add_owning_call(to, m);
  to += "\n";
}

}  // namespace

void add_comments(std::string& to, std::string_view indent, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) to += concat({indent, "//", line, "\n"});
}

void add_service_class(std::string& to, const service_model& s) {
  to +=
      "  // For servers: derive from it and override what is served; the rest answers UNIMPLEMENTED.\n"
      "  class service : public ::coracle::service {\n"
      "   public:\n";
  for (const method_model& m : s.methods) add_handler(to, m);
  add_method_table(to, s);
  to += "  };\n";
}

void add_stub_class(std::string& to, const service_model& s) {
  to += "  // For clients: keeps its handle of the channel.\n";
  to += concat({"  class ", s.deprecated ? concat({deprecated_attribute, " "}) : "", "stub {\n"});
  to +=
      "   public:\n"
      "    explicit stub(::coracle::channel channel) noexcept : channel_(::std::move(channel)) {}\n\n";
  for (const method_model& m : s.methods) add_call(to, m);
  to += "   private:\n";
  to += "    ::coracle::channel channel_;\n";
  to += "  };\n";
}

}  // namespace coracle::codegen
