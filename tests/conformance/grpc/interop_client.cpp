// interop_client: runs one case of gRPC's interop description against an interop server.
#include "interop_cases.hpp"

#include "../../../examples/command_line.hpp"

#include <coracle/tls/client_options.hpp>

#include <algorithm>
#include <charconv>
#include <string>

namespace {

using test_case = coracle::task<> (*)(interop::session& at);

struct named_case {
  const char* name;
  test_case run;
};

constexpr named_case cases[] = {
    {"empty_unary", interop::empty_unary},
    {"cacheable_unary", interop::cacheable_unary},
    {"uncached_unary", interop::uncached_unary},
    {"large_unary", interop::large_unary},
    {"client_streaming", interop::client_streaming},
    {"server_streaming", interop::server_streaming},
    {"ping_pong", interop::ping_pong},
    {"empty_stream", interop::empty_stream},
    {"timeout_on_sleeping_server", interop::timeout_on_sleeping_server},
    {"cancel_after_begin", interop::cancel_after_begin},
    {"cancel_after_first_response", interop::cancel_after_first_response},
    {"status_code_and_message", interop::status_code_and_message},
    {"special_status_message", interop::special_status_message},
    {"custom_metadata", interop::custom_metadata},
    {"unimplemented_method", interop::unimplemented_method},
    {"unimplemented_service", interop::unimplemented_service},
    {"client_compressed_unary", interop::client_compressed_unary},
    {"server_compressed_unary", interop::server_compressed_unary},
    {"client_compressed_streaming", interop::client_compressed_streaming},
    {"server_compressed_streaming", interop::server_compressed_streaming},
    {"rpc_soak", interop::rpc_soak},
    {"channel_soak", interop::channel_soak},
    {"long_lived_channel", interop::long_lived_channel},
    {"very_large_request", interop::very_large_request},
    {"orca_per_rpc", interop::orca_per_rpc},
    {"orca_oob", interop::orca_oob},
};

test_case find_case(const std::string& name) {
  const auto* found = std::ranges::find_if(cases, [&](const auto& one) { return name == one.name; });
  if (found != std::end(cases)) return found->run;
  std::string known;
  for (const auto& one : cases) known.append(" ").append(one.name);
  throw examples::usage_error("there is no --test_case '" + name + "'; the cases are" + known);
}

int number(const examples::command_line& line, const std::string& name, int otherwise) {
  const auto text = line.option(name);
  if (!text) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size() && value >= 0) return value;
  throw examples::usage_error("--" + name + " is a number, not '" + *text + "'");
}

interop::soak_plan soak_plan_of(const examples::command_line& line) {
  interop::soak_plan plan;
  plan.iterations = number(line, "soak_iterations", plan.iterations);
  plan.failures_max = number(line, "soak_max_failures", plan.failures_max);
  plan.latency_max =
      std::chrono::milliseconds(number(line, "soak_per_iteration_max_acceptable_latency_ms", 1000));
  plan.pause_min = std::chrono::milliseconds(number(line, "soak_min_time_ms_between_rpcs", 0));
  plan.overall_max = std::chrono::seconds(number(line, "soak_overall_timeout_seconds", 10));
  plan.request_bytes = number(line, "soak_request_size", plan.request_bytes);
  plan.response_bytes = number(line, "soak_response_size", plan.response_bytes);
  plan.threads = number(line, "soak_num_threads", plan.threads);
  return plan;
}

coracle::channel_credentials credentials_of(const examples::command_line& line) {
  if (line.option("use_tls").value_or("false") == "false") return coracle::insecure();
  coracle::tls::client_options tls;
  if (const auto file = line.option("ca_file")) tls.cas.push_back(coracle::tls::pem_source::file(*file));
  if (const auto name = line.option("server_host_override")) tls.target_name = *name;
  return tls;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("interop_client", [&] {
    const examples::command_line line(
        argc, argv,
        "--server_port=PORT --test_case=CASE [--server_host=HOST] [--server_host_override=NAME] "
        "[--use_tls=true] "
        "[--ca_file=FILE] [--soak_iterations=N] [--soak_max_failures=N] "
        "[--soak_per_iteration_max_acceptable_latency_ms=N] [--soak_min_time_ms_between_rpcs=N] "
        "[--soak_overall_timeout_seconds=N] [--soak_request_size=N] [--soak_response_size=N] "
        "[--soak_num_threads=N]");
    const auto host = line.option("server_host").value_or("127.0.0.1");
    const auto port = std::to_string(line.port("server_port"));
    const auto address = host.find(':') == host.npos ? host + ":" + port : "[" + host + "]:" + port;
    const auto run_case = find_case(line.required("test_case"));
    coracle::runtime runtime;
    interop::session at(runtime, address, credentials_of(line), soak_plan_of(line));
    coracle::sync_wait(runtime, run_case(at));
    return 0;
  });
}
