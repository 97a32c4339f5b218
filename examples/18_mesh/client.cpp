// mesh_client: calls a service by its name in the mesh; the control plane of the bootstrap decides which server answers.
#include "../command_line.hpp"
#include "mesh.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server/server.hpp>
#include <coracle/telemetry/with_metrics.hpp>
#include <coracle/xds/credentials.hpp>
#include <coracle/xds/xds.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
using stub = mesh::rpc::Backend::stub;

// How often each answer came. Any thread.
class tally {
 public:
  void add(const std::string& answer) {
    const std::lock_guard lock(mutex_);
    ++answers_[answer];
  }
  // Since the last time.
  std::string take() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [answer, times] : std::exchange(answers_, {}))
      text.append(answer).append("=").append(std::to_string(times)).append(" ");
    return text;
  }
  void begin(int callers) { running_ = callers; }
  void end() {
    const std::lock_guard held(mutex_);
    if (--running_ == 0) ended_.notify_all();
  }
  // Until each caller has ended.
  void wait() {
    std::unique_lock held(mutex_);
    ended_.wait(held, [this] { return running_ == 0; });
  }
  std::atomic<bool> over{false};

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
  std::map<std::string, int> answers_;
};

coracle::task<> call_until_over(stub service, coracle::call_options options, tally& answers) {
  const mesh::DescribeRequest request;
  while (!answers.over) {
    const auto reply = co_await service.Describe(request, options);
    if (!reply) std::fprintf(stderr, "%s\n", reply.status().to_string().c_str());
    answers.add(reply ? reply->name() + "/" + reply->version()
                      : std::string(coracle::name_of(reply.status().code())));
    co_await coracle::sleep_for(4ms);
  }
  answers.end();
}

// Prints the answers since the last line of the input whenever one comes, and the rest at its end.
int call_while_asked(const coracle::channel& channel, const coracle::call_options& options, int callers) {
  tally answers;
  answers.begin(callers);
  for (int i = 0; i < callers; ++i) channel.owner().spawn(call_until_over(stub(channel), options, answers));
  channel.owner().start();
  for (std::string line; std::getline(std::cin, line);) std::cout << answers.take() << std::endl;
  answers.over = true;
  answers.wait();
  std::cout << answers.take() << std::endl;
  return 0;
}

int call_once(const coracle::channel& channel, const coracle::call_options& options) {
  const mesh::DescribeRequest request;
  const auto reply = coracle::sync_wait(stub(channel).Describe(request, options)).value();
  std::printf("%s/%s answers '%s'\n", reply.name().c_str(), reply.version().c_str(), reply.caller().c_str());
  return 0;
}

// What Prometheus finds at the address: also what is off by default, and which servers the mesh chose.
void serve_metrics(coracle::server& by, const std::string& address) {
  coracle::metrics_options options;
  options.address = address;
  options.telemetry.enabled = {"grpc.lb.*", "grpc.subchannel.*", "grpc.xds_client.*"};
  options.telemetry.optional_labels = {"grpc.lb.backend_service", "grpc.lb.locality",
                                       "grpc.lb.outlier_detection.detection_method"};
  coracle::with_metrics(by, options);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("mesh_client", [&] {
    const examples::command_line line(argc, argv, "TARGET [--user=NAME] [--callers=N] [--metrics=IP:PORT]");
    coracle::runtime runtime;
    coracle::server operators(runtime);
    if (const auto at = line.option("metrics")) serve_metrics(operators, *at);
    // --8<-- [start:mesh]
    coracle::channel_options options;
    options.add_resolver("xds", coracle::xds_resolver());
    const coracle::channel channel(runtime, line.words().front(),
                                   coracle::xds_credentials(coracle::insecure()), options);
    // --8<-- [end:mesh]
    coracle::call_options call = coracle::within(5s);
    if (const auto user = line.option("user")) call.metadata.add("user", *user);
    const int callers = std::atoi(line.option("callers").value_or("0").c_str());
    return callers > 0 ? call_while_asked(channel, call, callers) : call_once(channel, call);
  });
}
