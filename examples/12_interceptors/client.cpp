// library_client: adds a book and looks for it twice; an interceptor answers the second time from its cache.
#include "../command_line.hpp"
#include "library.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace {

// --8<-- [start:cache]
// Caches the first thousand replies of some unary methods. A real program would also limit their age.
class caching final : public coracle::client_interceptor {
 public:
  explicit caching(std::set<std::string, std::less<>> methods) : methods_(std::move(methods)) {}

  coracle::task<coracle::status> intercept(coracle::client_context& call, coracle::next_call next) override {
    if (!methods_.contains(call.method())) co_return co_await next();
    std::string key(call.method());
    key.append(" ").append(coracle::as_text(next.request().bytes()));
    const std::optional<std::string> kept = find(key);
    if (kept) {
      next.reply().set_bytes(*kept);  // nothing is sent
      co_return coracle::ok;
    }
    const coracle::status s = co_await next();
    if (s.ok()) keep(key, next.reply().bytes());
    co_return s;
  }

 private:
  std::optional<std::string> find(const std::string& key) {
    const std::lock_guard lock(mutex_);  // calls on several loops share the cache
    const auto found = replies_.find(key);
    return found == replies_.end() ? std::nullopt : std::optional(found->second);
  }
  void keep(const std::string& key, coracle::bytes_view reply) {
    const std::lock_guard lock(mutex_);
    if (replies_.size() < 1000) replies_.emplace(key, coracle::as_text(reply));
  }

  const std::set<std::string, std::less<>> methods_;
  std::mutex mutex_;
  std::map<std::string, std::string> replies_;
};
// --8<-- [end:cache]

coracle::task<> tour(library::rpc::Library::stub shelf, std::string isbn, std::string title) {
  library::Book book;
  book.set_isbn(isbn);
  book.set_title(title);
  auto adding = shelf.Add();
  (void)co_await adding.write(book);
  const auto added = co_await adding.finish();
  std::printf("added %u\n", added.value().added());
  library::FindRequest request;
  request.set_isbn(isbn);
  for (int i = 0; i < 2; ++i) {
    const auto found = co_await shelf.Find(request);
    std::printf("found %s\n", examples::printable(found.value().title()).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("library_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS ISBN TITLE");
    coracle::runtime loops(1);
    const coracle::channel channel(loops, line.words()[0], coracle::insecure());
    const auto cache = std::make_shared<caching>(std::set<std::string, std::less<>>{"/library.Library/Find"});
    const coracle::channel cached = channel.with_interceptors({cache});
    coracle::sync_wait(loops, tour(library::rpc::Library::stub(cached), line.words()[1], line.words()[2]));
    return 0;
  });
}
