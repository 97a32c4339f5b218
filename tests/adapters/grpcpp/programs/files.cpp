// Files that are uploaded and downloaded in chunks, with a checksum.
#include "program.hpp"

#include <cstdint>
#include <thread>

namespace programs::files {

using program_services::Chunk;
using program_services::File;

namespace {

constexpr std::int64_t bytes_max = 10'000'000;
constexpr std::size_t chunk_bytes = 64 * 1024;

// FNV-1a.
class checksum {
 public:
  void add(const std::string& data) {
    for (const unsigned char byte : data) sum_ = (sum_ ^ byte) * 0x100000001b3u;
  }
  std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325u;
};

// The content of the file of so many bytes.
std::string content(std::int64_t bytes) {
  std::string all(bytes, '\0');
  std::uint32_t state = 12345;
  for (char& byte : all) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return all;
}

File described(const std::string& name, const std::string& data) {
  File file;
  file.set_name(name);
  file.set_bytes(data.size());
  checksum sum;
  sum.add(data);
  file.set_checksum(sum.sum());
  return file;
}

std::string shown(const File& file) {
  return file.name() + " " + std::to_string(file.bytes()) + " " + std::to_string(file.checksum());
}

class file_service final : public program_services::Files::Service {
 public:
  grpc::Status Upload(grpc::ServerContext*, grpc::ServerReader<Chunk>* reader, File* file) override {
    Chunk chunk;
    if (!reader->Read(&chunk) || chunk.name().empty())
      return {grpc::StatusCode::INVALID_ARGUMENT, "a file needs a name"};
    file->set_name(chunk.name());
    checksum sum;
    do {
      file->set_bytes(file->bytes() + chunk.data().size());
      if (file->bytes() > bytes_max) return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too large", chunk.name()};
      sum.add(chunk.data());
    } while (reader->Read(&chunk));
    file->set_checksum(sum.sum());
    return grpc::Status::OK;
  }

  grpc::Status Download(grpc::ServerContext* context, const File* file,
                        grpc::ServerWriter<Chunk>* writer) override {
    const std::string data = content(file->bytes());
    context->AddInitialMetadata("bytes", std::to_string(data.size()));
    context->AddTrailingMetadata("checksum", std::to_string(described("", data).checksum()));
    writer->SendInitialMetadata();
    for (std::size_t at = 0; at < data.size(); at += chunk_bytes) {
      Chunk chunk;
      chunk.set_data(data.substr(at, chunk_bytes));
      const bool is_last = at + chunk_bytes >= data.size();
      if (is_last) writer->WriteLast(chunk, grpc::WriteOptions());
      else if (!writer->Write(chunk, grpc::WriteOptions().set_buffer_hint())) return grpc::Status::CANCELLED;
    }
    return grpc::Status::OK;
  }
};

std::string uploaded(program_services::Files::Stub& stub, const std::string& name, const std::string& data,
                     std::size_t chunk_size = chunk_bytes) {
  grpc::ClientContext context;
  File file;
  const auto writer = stub.Upload(&context, &file);
  for (std::size_t at = 0; at <= data.size(); at += chunk_size) {
    Chunk chunk;
    if (at == 0) chunk.set_name(name);
    chunk.set_data(data.substr(at, chunk_size));
    // A failed write is not the reason: Finish() says it.
    if (!writer->Write(chunk)) break;
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  return programs::shown(status) + (status.ok() ? " " + shown(file) : "") +
         (status.ok() && shown(file) == shown(described(name, data)) ? " as sent" : "");
}

void download(program_services::Files::Stub& stub, std::int64_t bytes) {
  grpc::ClientContext context;
  File file;
  file.set_bytes(bytes);
  const auto reader = stub.Download(&context, file);
  reader->WaitForInitialMetadata();
  const std::string announced = value_of(context.GetServerInitialMetadata(), "bytes");
  std::string data;
  Chunk chunk;
  int chunks = 0;
  for (; reader->Read(&chunk); ++chunks) data += chunk.data();
  const grpc::Status status = reader->Finish();
  say("download of " + std::to_string(bytes), programs::shown(status), announced, data.size(), chunks,
      value_of(context.GetServerTrailingMetadata(), "checksum") ==
          std::to_string(described("", data).checksum()));
}

}  // namespace

void serve(const arguments&) {
  file_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
}

void call(const arguments& given) {
  const auto stub = program_services::Files::NewStub(channel_to(given.at(0)));
  say("empty file", uploaded(*stub, "empty", ""));
  say("small file", uploaded(*stub, "small", "some words"));
  say("large file", uploaded(*stub, "large", content(5'000'000)));
  say("file in small chunks", uploaded(*stub, "small chunks", content(20'000), 7));
  say("file in one chunk", uploaded(*stub, "one chunk", content(4'000'000), 5'000'000));
  say("file without a name", uploaded(*stub, "", "data"));
  say("file that is too large", uploaded(*stub, "too large", content(20'000'000)));
  {
    grpc::ClientContext context;
    File file;
    const auto writer = stub->Upload(&context, &file);
    const bool done = writer->WritesDone();
    say("no file", done, programs::shown(writer->Finish()));
  }
  {
    // The text of the status is the library's.
    grpc::ClientContext context;
    File file;
    const auto writer = stub->Upload(&context, &file);
    Chunk chunk;
    chunk.set_name("chunk that is too large");
    chunk.set_data(content(5'000'000));
    writer->WriteLast(chunk, grpc::WriteOptions());
    say("chunk that is too large", writer->Finish().error_code());
  }
  std::vector<std::thread> threads;
  std::vector<std::string> results(6);
  for (std::size_t i = 0; i < results.size(); ++i)
    threads.emplace_back(
        [&, i] { results[i] = uploaded(*stub, "file " + std::to_string(i), content(1'000'000 + 1000 * i)); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) say("file of several", result);
  for (const std::int64_t bytes : {0, 1, 65'536, 5'000'000}) download(*stub, bytes);
}

}  // namespace programs::files
