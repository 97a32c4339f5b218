#include "coracle/net/file.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/when_any.hpp"
#include "coracle/net/file.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <fstream>
#include <string>
#include <vector>

namespace coracle::net::file_test {
namespace {

using testing::HasSubstr;
using testing_support::all_kinds;

class File : public testing_support::every_backend {
 protected:
  scratch_folder folder_;
};
INSTANTIATE_TEST_SUITE_P(On, File, all_kinds, File::case_name);

std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + (i >> 9));
  return text;
}

std::string on_disk(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

task<file> opened(std::string path, file_options options) {
  result<file> f = co_await file::open(path, options);
  co_return std::move(f).value();
}

task<std::string> read_text(file& f, std::uint64_t at, std::size_t bytes) {
  std::string text(bytes, '\0');
  const mutable_bytes room(reinterpret_cast<std::uint8_t*>(text.data()), bytes);
  const result<std::size_t> n = co_await f.read_at(at, room);
  text.resize(n.value());
  co_return text;
}

task<> at_offsets(std::string path) {
  file f = co_await opened(path, file_options{.write = true, .create = true});
  const status tail = co_await f.write_at(5, as_bytes("world"));
  EXPECT_TRUE(tail.ok()) << tail;
  const status head = co_await f.write_at(0, as_bytes("hello"));
  EXPECT_TRUE(head.ok()) << head;
  const std::string middle = co_await read_text(f, 3, 4);
  EXPECT_EQ(middle, "lowo");
  const std::string rest = co_await read_text(f, 8, 100);
  EXPECT_EQ(rest, "ld") << "less only at the end";
  const std::string behind = co_await read_text(f, 10, 100);
  EXPECT_EQ(behind, "");
  const result<std::uint64_t> size = co_await f.size();
  EXPECT_EQ(size.value(), 10u);
  const status synced = co_await f.sync();
  EXPECT_TRUE(synced.ok()) << synced;
  const status data = co_await f.sync_data();
  EXPECT_TRUE(data.ok()) << data;
  f.close();
  EXPECT_FALSE(f.is_open());
}
TEST_P(File, ReadsAndWritesAtOffsets) {
  run(at_offsets(folder_ / "f"));
  EXPECT_EQ(on_disk(folder_ / "f"), "helloworld");
}

task<> in_sequence(std::string path) {
  file f = co_await opened(path, file_options{.write = true, .create = true});
  for (const char* word : {"one ", "two ", "three"}) {
    const status written = co_await f.write(as_bytes(word));
    EXPECT_TRUE(written.ok()) << written;
  }
  EXPECT_EQ(f.position(), 13u);
  f.seek(4);
  std::vector<std::uint8_t> room(6);
  const result<std::size_t> first = co_await f.read(room);
  EXPECT_EQ(as_text(bytes_view(room).first(first.value())), "two th");
  const result<std::size_t> second = co_await f.read(room);
  EXPECT_EQ(as_text(bytes_view(room).first(second.value())), "ree");
  const result<std::size_t> end = co_await f.read(room);
  EXPECT_EQ(end.value(), 0u);
}
TEST_P(File, ReadsAndWritesInSequence) { run(in_sequence(folder_ / "f")); }

task<> large(std::string path, const std::string& text) {
  const status written = co_await write_file(path, as_bytes(text));
  EXPECT_TRUE(written.ok()) << written;
  const result<std::string> back = co_await read_file(path);
  EXPECT_TRUE(*back == text);
}
TEST_P(File, MovesManyMegabytesWhole) {
  const std::string text = noise((9 << 20) + 1);
  run(large(folder_ / "f", text));
  EXPECT_TRUE(on_disk(folder_ / "f") == text);
}

task<status> copy_part(file& from, file& to, std::uint64_t at, std::size_t bytes) {
  const std::string text = co_await read_text(from, at, bytes);
  co_return co_await to.write_at(at, as_bytes(text));
}
task<> many_at_once(std::string from_path, std::string to_path) {
  file from = co_await opened(from_path, {});
  file to = co_await opened(to_path, file_options::overwrite());
  std::vector<task<status>> parts;
  for (std::uint64_t at = 0; at < 64; ++at) parts.push_back(copy_part(from, to, at * 10'000, 10'000));
  const std::vector<status> done = co_await when_all(std::move(parts));
  for (const status& s : done) EXPECT_TRUE(s.ok()) << s;
}
TEST_P(File, SixtyFourReadsAndWritesGoBesideEachOther) {
  std::ofstream(folder_ / "from", std::ios::binary) << noise(640'000);
  run(many_at_once(folder_ / "from", folder_ / "to"));
  EXPECT_TRUE(on_disk(folder_ / "to") == noise(640'000));
}

task<> appends(std::string path) {
  file f = co_await opened(path, file_options{.create = true, .append = true});
  const status first = co_await f.write(as_bytes("one"));
  EXPECT_TRUE(first.ok());
  const status second = co_await f.write_at(0, as_bytes("two"));
  EXPECT_TRUE(second.ok());
}
TEST_P(File, AppendsWhateverTheOffset) {
  std::ofstream(folder_ / "f") << "zero";
  run(appends(folder_ / "f"));
  EXPECT_EQ(on_disk(folder_ / "f"), "zeroonetwo");
}

task<status> try_open(std::string path, file_options options) {
  const result<file> f = co_await file::open(path, options);
  co_return f.status();
}
TEST_P(File, WhatCannotBeOpenedSaysWhyAndWhich) {
  const std::string none = folder_ / "none";
  EXPECT_EQ(run(try_open(none, {})), status::not_found("opening " + none + ": no such file or directory"));
  std::ofstream(folder_ / "there") << "x";
  EXPECT_EQ(run(try_open(folder_ / "there", file_options{.write = true, .create_new = true})).code(),
            status_code::already_exists);
  EXPECT_EQ(run(try_open(folder_.path(), file_options{.write = true})).code(), status_code::invalid_argument);
  EXPECT_EQ(run(try_open("", {})).code(), status_code::invalid_argument);
}

TEST_P(File, OptionsMakeEmptyAndKeep) {
  EXPECT_TRUE(
      run(try_open(folder_ / "new", file_options{.write = true, .create_new = true, .permissions = 0600}))
          .ok());
  struct stat made{};
  ASSERT_EQ(::stat((folder_ / "new").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 0777, 0600u);
  std::ofstream(folder_ / "full") << "full";
  EXPECT_TRUE(run(try_open(folder_ / "full", file_options{.write = true, .create = true})).ok());
  EXPECT_EQ(on_disk(folder_ / "full"), "full");
  EXPECT_TRUE(run(try_open(folder_ / "full", file_options::overwrite())).ok());
  EXPECT_EQ(on_disk(folder_ / "full"), "");
}

task<> against_its_options(std::string path) {
  file f = co_await opened(path, {});
  const status refused = co_await f.write_at(0, as_bytes("x"));
  EXPECT_EQ(refused.code(), status_code::failed_precondition) << refused;
  const result<std::size_t> empty = co_await f.read_at(0, {});
  EXPECT_EQ(empty.status().code(), status_code::invalid_argument);
  std::vector<std::uint8_t> room(1);
  const result<std::size_t> far = co_await f.read_at(~std::uint64_t{0}, room);
  EXPECT_EQ(far.status().code(), status_code::resource_exhausted);
}
TEST_P(File, AWriteToAFileThatIsReadIsRefused) {
  std::ofstream(folder_ / "f") << "x";
  run(against_its_options(folder_ / "f"));
  EXPECT_EQ(on_disk(folder_ / "f"), "x");
}

TEST_P(File, AFifoHasNoPositions) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const status refused = run(try_open(folder_ / "fifo", file_options{.write = true}));
  EXPECT_EQ(refused.code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("net::input"));
}

// No process has the other end open: an open that waits for one would block a thread, and no stop would end
// it.
TEST_P(File, AFifoWithoutAPeerIsRefusedToo) {
  ASSERT_EQ(::mkfifo((folder_ / "lonely").c_str(), 0600), 0);
  EXPECT_EQ(run(try_open(folder_ / "lonely", file_options{})).code(), status_code::invalid_argument);
  EXPECT_EQ(run(try_open(folder_ / "lonely", file_options{.read = false, .write = true})).code(),
            status_code::invalid_argument);
}

task<status> read_whole(std::string path, std::size_t most) {
  const result<std::string> text = co_await read_file(path, most);
  co_return text.status();
}
TEST_P(File, AWholeFileIsBounded) {
  std::ofstream(folder_ / "f") << noise(1000);
  EXPECT_TRUE(run(read_whole(folder_ / "f", 1000)).ok());
  EXPECT_EQ(run(read_whole(folder_ / "f", 999)).code(), status_code::resource_exhausted);
  // It reports no size, and never ends.
  EXPECT_EQ(run(read_whole("/dev/zero", 1 << 20)).code(), status_code::resource_exhausted);
}
TEST_P(File, AFileOfUnknownSizeIsReadToItsEnd) {
  EXPECT_TRUE(run(read_whole("/proc/self/maps", 64 << 20)).ok());
}

task<> note_read(file& f, status& outcome) {
  std::vector<std::uint8_t> room(1000);
  const result<std::size_t> n = co_await f.read_at(0, room);
  outcome = n.status();
}
task<> stopped_before(std::string path) {
  file f = co_await opened(path, {});
  status outcome;
  scope reading;
  reading.request_stop();
  reading.spawn(note_read(f, outcome));
  co_await reading.join();
  EXPECT_EQ(outcome.code(), status_code::cancelled);

  coro::environment late;
  late.deadline = coro::this_executor().now();
  scope too_late(late);
  too_late.spawn(note_read(f, outcome));
  co_await too_late.join();
  EXPECT_EQ(outcome.code(), status_code::deadline_exceeded);
}
TEST_P(File, AReadUnderAStopOrADeadlineThatHasComeDoesNotBegin) {
  std::ofstream(folder_ / "f") << noise(1000);
  run(stopped_before(folder_ / "f"));
}

// However the stop and the read meet, the kernel does not use the buffer any more when the await ends: the
// frame with the buffer is destroyed right then.
task<> stops_that_race(std::string path) {
  file f = co_await opened(path, {});
  for (int i = 0; i < 200; ++i) {
    status outcome = status::unknown();
    scope reading;
    reading.spawn(note_read(f, outcome));
    reading.request_stop();
    co_await reading.join();
    EXPECT_TRUE(outcome.ok() || outcome.code() == status_code::cancelled) << outcome;
  }
}
TEST_P(File, AStopThatRacesWithAReadIsWaitedFor) {
  std::ofstream(folder_ / "f") << noise(1000);
  run(stops_that_race(folder_ / "f"));
}

task<> closed_under_a_read(std::string path) {
  file f = co_await opened(path, {});
  status outcome;
  scope reading;
  reading.spawn(note_read(f, outcome));
  f.close();
  co_await reading.join();
}
task<> two_sequential(std::string path) {
  file f = co_await opened(path, file_options{.write = true});
  std::vector<std::uint8_t> room(10);
  co_await when_any(f.read(room), f.read(room));
}
void on_epoll(task<> t) {
  runtime rt(runtime_options{.backend = backend_choice::epoll});
  sync_wait(rt, std::move(t));
}
TEST(FileDefect, ACloseUnderAReadAbortsAndTwoReadsThrow) {
  const scratch_folder folder;
  std::ofstream(folder / "f") << "x";
  EXPECT_DEATH(on_epoll(closed_under_a_read(folder / "f")), "closed or destroyed while a task uses it");
  test::expect_misuse([&] { on_epoll(two_sequential(folder / "f")); }, "use read_at() and write_at()");
}

}  // namespace
}  // namespace coracle::net::file_test
