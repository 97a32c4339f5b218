// Streams of each kind to an AsyncGenericService.
#include "generic_cases.hpp"

#include <string>

namespace call_kinds::generic {
namespace {

// --- streams

void serve_server_stream(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  ByteBuffer message;
  std::string got = call.read(message, 2);
  const int count = parsed<Query>(message).number();
  call.context.AddInitialMetadata("own-initial", "a");
  call.stream.SendInitialMetadata(tagged(3));
  got += " " + call.next();
  Reply reply;
  for (int i = 0; i < count; ++i) {
    reply.set_number(i);
    got += " " + call.write(bytes_of(reply), 4);
  }
  reply.set_number(count);
  call.context.AddTrailingMetadata("own-trailing", "b");
  call.stream.WriteAndFinish(bytes_of(reply), grpc::WriteOptions(),
                             grpc::Status(grpc::StatusCode::ABORTED, "no more"), tagged(5));
  const std::string ended = call.next(2);
  say(name, begun, call.context.method(), got, ended);
}

void call_server_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto reader = c.stub->ServerStream(&context, query("x", 3));
  reader->WaitForInitialMetadata();
  std::string seen = own(context.GetServerInitialMetadata());
  Reply reply;
  while (reader->Read(&reply)) seen += " " + std::to_string(reply.number());
  const auto s = reader->Finish();
  say(name, seen, shown(s), own(context.GetServerTrailingMetadata()));
}

void serve_client_stream(serving& s, const std::string& name) {
  held call(s);
  std::string events = call.next();
  Summary summary;
  ByteBuffer message;
  while (true) {
    const std::string got = call.read(message, 2);
    events += " " + got;
    if (got != "2+") break;
    summary.set_distance(summary.distance() + parsed<Position>(message).north());
    summary.set_positions(summary.positions() + 1);
  }
  events += " " + call.write(bytes_of(summary), 3);
  const std::string ended = call.end(4, grpc::Status::OK);
  say(name, call.context.method(), events, ended);
}

void call_client_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  Summary summary;
  const auto writer = c.stub->ClientStream(&context, &summary);
  Position position;
  for (int i = 1; i <= 3; ++i) {
    position.set_north(i);
    writer->Write(position);
  }
  writer->WritesDone();
  const auto s = writer->Finish();
  say(name, shown(s), summary.positions(), summary.distance());
}

void serve_bidi_stream(serving& s, const std::string& name) {
  held call(s);
  std::string events = call.next();
  ByteBuffer message;
  for (std::string got; (got = call.read(message, 2)) == "2+";) {
    call.stream.Write(message, grpc::WriteOptions().set_no_compression(), tagged(3));
    events += " " + got + " " + call.next();
  }
  const std::string ended = call.end(4, grpc::Status::OK);
  say(name, events, ended);
}

void call_bidi_stream(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  std::string seen;
  for (const char* word : {"a", "b", "c"}) {
    Note note;
    note.set_text(word);
    const bool written = stream->Write(note);
    note.Clear();
    const bool got = stream->Read(&note);
    seen += (written && got ? note.text() : "?") + " ";
  }
  stream->WritesDone();
  say(name, seen, shown(stream->Finish()));
}

void serve_read_and_write(serving& s, const std::string& name) {
  held call(s);
  const std::string begun = call.next();
  ByteBuffer message;
  call.stream.Read(&message, tagged(2));
  call.stream.Write(bytes_of(Note()), tagged(3));
  const std::string both = call.next(2);
  const std::string ended = call.end(4, grpc::Status::OK);
  say(name, begun, both, parsed<Note>(message).text(), ended);
}

void call_read_and_write(calling& c, const std::string& name) {
  grpc::ClientContext context;
  const auto stream = c.stub->BidiStream(&context);
  Note note;
  const bool got = stream->Read(&note);
  note.set_text("then");
  const bool written = stream->Write(note);
  while (stream->Read(&note)) continue;
  say(name, got, written, shown(stream->Finish()));
}

}  // namespace

cases stream_cases() {
  return {{"server stream", serve_server_stream, call_server_stream},
          {"client stream", serve_client_stream, call_client_stream},
          {"bidi stream", serve_bidi_stream, call_bidi_stream},
          {"a read and a write at the same time", serve_read_and_write, call_read_and_write}};
}

}  // namespace call_kinds::generic
