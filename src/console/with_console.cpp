#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/console/console.hpp"
#include "coracle/console/impl/console_host.hpp"
#include "coracle/server/server.hpp"
#include "services/json_text.hpp"
#include "services/served_names.hpp"
#include "services/web_page.hpp"
#include "wellknown/descriptors.hpp"

#include <google/protobuf/descriptor.h>

#include <functional>
#include <set>
#include <utility>

namespace coracle {

namespace console {

namespace {

namespace pb = google::protobuf;

// Adds a file and what it imports.
void add_file(const pb::FileDescriptor& file, std::set<const pb::FileDescriptor*>& added,
              pb::FileDescriptorSet& to) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) add_file(*file.dependency(i), added, to);
  file.CopyTo(to.add_file());
  file.CopyJsonNameTo(to.mutable_file(to.file_size() - 1));
}

// The page of a server, which calls that server only. The server keeps it as a service without methods, so
// that it learns what the server serves.
class own_server final : public console_host, public service {
 public:
  // Throws usage_error.
  own_server(server& on, console_options options) : server_(on), options_(std::move(options)) {
    if (!described_.ParseFromString(options_.descriptor_set))
      throw usage_error(
          "console_options::descriptor_set is not a descriptor set; protoc --include_imports "
          "--include_source_info --descriptor_set_out=FILE writes one");
  }

  // Without `authorize` the server listens on this machine only: with_console(). A proxy on the machine
  // brings clients of others.
  status authorize(const http_request& request, bool) override {
    if (options_.authorize) return options_.authorize(request);
    return services::refuse_proxies(request, "console_options::authorize");
  }
  std::string about() override { return services::text_of({{"own", true}}); }

  // A channel for each page: one that the server kept would keep the server, and the client of the page is
  // that of the calls.
  task<result<std::shared_ptr<called_server>>> connect(std::string, http_request request) override {
    channel_options options;
    options.retries = false;
    auto names = services::served_names(*host_);
    // Of files with the same name, the first one counts: here the one with comments.
    pb::FileDescriptorSet files = described_;
    std::set<const pb::FileDescriptor*> added;
    for (const std::string& name : names)
      if (const auto* const known = pb::DescriptorPool::generated_pool()->FindServiceByName(name))
        add_file(*known->file(), added, files);
    // gRPC's own services are in no pool. Their files come last: a program may have generated code of its
    // own.
    pb::FileDescriptorSet own;
    const std::string_view bytes = wellknown::descriptors();
    CORACLE_ASSERT(own.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
                   "the embedded descriptors are not valid: rebuild the library");
    files.MergeFrom(own);
    std::shared_ptr<const auth_context> client;
    if (request.auth()) client = request.auth()->shared_from_this();
    channel own_calls(server_.owner(), server_.in_process(std::move(client)), options);
    co_return std::make_shared<called_server>(std::move(own_calls), std::move(files),
                                              std::vector<std::string>(names.begin(), names.end()));
  }

  [[nodiscard]] method_table methods() const noexcept override { return {}; }
  void added_to(const service_host& host) override { host_ = &host; }

 private:
  server& server_;
  const console_options options_;
  pb::FileDescriptorSet described_;
  const service_host* host_ = nullptr;
};

}  // namespace

}  // namespace console

void with_console(server& on, console_options options) {
  services::check_page_path(options.path, "console_options::path");
  if (!options.authorize)
    on.require_loopback(
        "with_console() without console_options::authorize lets anybody who reaches the server call it: set "
        "authorize, or listen on 127.0.0.1, ::1 or a UNIX socket");
  const std::string path = options.path;
  const auto host = std::make_shared<console::own_server>(on, std::move(options));
  console::add_console(on, path, host);
  on.add(host);
}

}  // namespace coracle
